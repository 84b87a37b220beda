"""`bookgen proof`: proofread a book in the terminal and apply corrections. Each correction is shown first."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from bookgen.client.client import Client
from bookgen.commands import server_and_account
from bookgen.errors import InvalidInput
from bookgen.models import Severity

PARAGRAPHS = re.compile(r"\s*\n\s*")
Found = Mapping[str, Any]

SAFE, ALL = "safe", "all"
QUESTION = "Apply? [y]es, [n]o, [d]ismiss permanently, all [s]afe ones, [q]uit: "


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("book", metavar="BOOK", help="title or id of the book")
    parser.add_argument(
        "--apply",
        type=_choices,
        metavar="LIST",
        help=f"{SAFE} (spelling and punctuation), {','.join(Severity)}, or {ALL}; applies these without asking",
    )
    parser.add_argument("--list", action="store_true", help="only show the suggestions")
    server_and_account.add_options(parser)


def _choices(text: str) -> tuple[str, ...]:
    chosen = tuple(Severity) if text == ALL else tuple(part.strip() for part in text.split(","))
    if not {*chosen} <= {SAFE, *Severity}:
        raise argparse.ArgumentTypeError(f"must be some of {SAFE},{','.join(Severity)}, or {ALL} (got {text!r})")
    return chosen


async def run(options: argparse.Namespace) -> int:
    """Have the book proofread, show the suggestions, and apply those that the user chooses.

    Returns 0, or 1 if the book could not be proofread.
    """
    console = Console(highlight=False)
    async with server_and_account.server_account(options, create=False) as server, Client(server.url) as client:
        await server.sign_in(client)
        book = _chosen(await client.list_books(), options.book)
        report = await _read(client, console, book, server.poll_seconds)
        console.print(Text(f"{book['title']}: {report['summary']}"))
        if report["status"] != "completed":
            return 1
        pending = [each async for each in client.suggestions(report["id"], status="pending")]
        if options.apply:
            await _apply(client, console, report, [each for each in pending if _is_chosen(each, options.apply)])
        elif options.list or not sys.stdin.isatty():
            for each in pending:
                await _show(client, console, report, each)
        else:
            await _ask(client, console, report, pending)
    return 0


async def _read(client: Client, console: Console, book: Found, every: float) -> Found:
    """Start to proofread the book, or join the proofreading in progress, and return the finished report.

    `every`: the longest time between two polls of the progress, in seconds.
    """
    begun = await client.proofread(book["id"])
    with console.status("Reading ...") as shown:
        async for report in client.reading(begun["id"], every):
            shown.update(f"Reading {book['title']} ... {report['progress']} %")
    return report


def _chosen(books: Sequence[Found], named: str) -> Found:
    """The newest book whose title is `named`, or else the book whose id it is. Raises InvalidInput if there is none."""
    by_title = [book for book in books if book["title"] == named]
    found = by_title or [book for book in books if str(book["id"]) == named]
    if not found:
        titles = ", ".join(str(book["title"]) for book in books[:5]) or "none yet"
        raise InvalidInput(f"There is no book {named!r}. Your books: {titles}.")
    return found[0]


def _is_chosen(suggestion: Found, choices: Sequence[str]) -> bool:
    return suggestion["severity"] in choices or (SAFE in choices and suggestion["safe"])


async def _ask(client: Client, console: Console, report: Found, pending: Sequence[Found]) -> None:
    left = list(pending)
    while left:
        each = left.pop(0)
        await _show(client, console, report, each)
        match await asyncio.to_thread(answer, console):
            case "y":
                applied = await client.apply_suggestion(report["id"], each["id"])
                console.print("Not applied: the text has changed." if applied["status"] == "stale" else "Applied.")
            case "d":
                await client.dismiss_suggestion(report["id"], each["id"])
                console.print(Text("Dismissed."))
            case "s":
                await _apply(client, console, report, [one for one in (each, *left) if one["safe"]])
                left = [one for one in (each, *left) if not one["safe"]]
            case "q":
                return


def answer(console: Console) -> str:
    """Ask the user what to do with a suggestion, and return the letter of the answer, or "q" at the end of input."""
    try:
        return console.input(QUESTION, markup=False).strip().lower()[:1]
    except EOFError:
        return "q"


async def _apply(client: Client, console: Console, report: Found, chosen: Sequence[Found]) -> None:
    for each in chosen:
        await _show(client, console, report, each)
    if not chosen:
        console.print("There are no matching suggestions to apply.")
        return
    outcome = await client.apply_suggestions(report["id"], [each["id"] for each in chosen])
    applied, stale = outcome["applied"], outcome["stale"]
    said = f"{_counted(applied)} applied."
    if stale:
        said += f" {_counted(stale)} not applied, because the text has changed."
    console.print(Text(f"{said} The previous text of each changed chapter is saved to the history."))


def _counted(number: int) -> str:
    return f"{number} suggestion{'' if number == 1 else 's'}"


async def _show(client: Client, console: Console, report: Found, each: Found) -> None:
    preview = await client.preview_suggestion(report["id"], each["id"])
    console.print()
    console.print(Text(f"Chapter {each['chapter_number']}, {each['severity']} {each['type']}: {each['explanation']}"))
    console.print(
        Text.assemble(
            _line(preview["context_before"]),
            *_changed(console, _line(preview["before"]), _line(preview["after"])),
            _line(preview["context_after"]),
        )
    )


def _changed(console: Console, before: str, after: str) -> Sequence[str | tuple[str, str]]:
    if console.color_system:
        return (before, "red strike"), " ", (after, "green bold")
    return f"[-{before}-]", f"{{+{after}+}}"  # the notation of wdiff, for terminals without colour


def _line(text: str) -> str:
    return PARAGRAPHS.sub(" ¶ ", text)
