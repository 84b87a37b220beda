"""`bookgen write`: turn an idea into the files of a book, through the HTTP API of a server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bookgen.client.books import BookHandle, WritingEnded
from bookgen.client.client import Client
from bookgen.client.errors import ApiError, GenerationInProgress, PlanUpgradeRequired, Unavailable
from bookgen.commands import model_trouble, server_and_account
from bookgen.commands.exit_codes import exit_code
from bookgen.commands.server_and_account import ServerAccount
from bookgen.commands.wording import in_words
from bookgen.commands.write_output import Lines, Status, make_display
from bookgen.errors import StartupError
from bookgen.render.formats import FORMATS
from bookgen.render.trim import DEFAULT_TRIM, TRIMS
from bookgen.services.exports import file_name

SAMPLE = (
    "No model is set up, so this book is sample text. For a real book, set ANTHROPIC_API_KEY, OPENAI_API_KEY or "
    "OPENAI_BASE_URL."
)
NO_PRODUCTION = (
    "The plan of this account does not include automated production, so the book is written without an editor's "
    "reading and is not proofread."
)
INTERRUPTED = 130
FIELDS = {  # the book's field that each option sets
    "author": "author_name",
    "genre": "genre",
    "audience": "target_audience",
    "description": "description",
    "blurb": "blurb",
    "chapters": "chapter_count",
    "words": "target_word_count",
    "language": "content_language",
    "trim": "trim_size",
}
OPTIONS = {field: f"--{option}" for option, field in FIELDS.items()}
BLURB_LOOK_SECONDS, MAX_BLURB_LOOKS = 0.5, 360
COVER_STAGE = "cover"  # of a failure
MAX_SHOWN_CHARACTERS = 40  # of an option's value in a message


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", metavar="TITLE")
    parser.add_argument("--genre", default="")
    parser.add_argument("--author", default="", help="the author's name on the title page")
    parser.add_argument("--audience", default="", help="the intended readers")
    parser.add_argument("--description", default="", help="the idea in a few sentences; not printed in the book")
    parser.add_argument("--blurb", default="", help="the text on the back cover (default: drafted)")
    parser.add_argument(
        "--chapters", type=int, metavar="N", help="number of chapters, 1 to 100 (default: 10, fewer in a short book)"
    )
    parser.add_argument(
        "--words",
        type=int,
        metavar="N",
        help="length of the whole book in words, in Chinese and Japanese in characters (default: 20000)",
    )
    parser.add_argument("--language", metavar="TAG", help="language tag, such as en, de, pt, ja (default: en)")
    parser.add_argument("--trim", metavar="SIZE", help=f"page size: {', '.join(TRIMS)} (default: {DEFAULT_TRIM})")
    formats = ",".join(FORMATS)
    parser.add_argument("--format", type=_formats, metavar="LIST", help=f"some of {formats} (default: all of the plan)")
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="folder for the files (default: the current one)"
    )
    parser.add_argument("--no-cover", dest="cover", action="store_false", help="do not create a cover")
    parser.add_argument("--new", action="store_true", help="write a new book even if a finished one has this title")
    server_and_account.add_options(parser)


def _formats(text: str) -> tuple[str, ...]:
    chosen = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if not chosen or any(format not in FORMATS for format in chosen):
        raise argparse.ArgumentTypeError(f"must be some of {','.join(FORMATS)} (got {text!r})")
    return chosen


async def run(options: argparse.Namespace) -> int:
    """Write the book. Returns 0 when the files are written, 130 after Ctrl-C, and another exit code after an error."""
    _make_folder(options.out)
    display = make_display()
    async with server_and_account.server_account(options) as server, Client(server.url) as client:
        journey = Journey(client, options, display, server)
        with _interruptible():
            try:
                async with model_trouble.failures_reported(server.log, display.say):
                    return await journey.go()
            except asyncio.CancelledError:
                _present_task().uncancel()
                return await journey.pause()
            except ApiError as error:
                again = isinstance(error, Unavailable) or error.details.get("retryable", False)
                display.failed(in_words(error, OPTIONS), {**error.details, "retryable": again})
                return exit_code(error)


class Journey:
    """Carries out the command: finds or creates the book, has the server write it, and downloads the files."""

    def __init__(self, client: Client, options: argparse.Namespace, display: Lines, server: ServerAccount) -> None:
        self._client = client
        self._options = options
        self._display = display
        self._server = server
        self._book: BookHandle | None = None
        self._wants_cover: bool = options.cover

    async def go(self) -> int:
        if await self._server.sign_in(self._client):
            self._display.say(SAMPLE)
        book = self._book = await self._begun() or await self._create()
        if book.status != "completed":
            if not book.data["chapters_count"]:
                self._display.say("Generating the outline ...")
                await book.outline()
            self._display.outline((await book.reload()).data)
            with self._display.following(book.data["content_language"]) as show:
                was_edited = await self._make(book, show)
            await (self._report(book) if was_edited else self._blurb(book))
        return await self._export(book)

    async def pause(self) -> int:
        """Pause the book after Ctrl-C, and return the exit code. Running the same command again continues the book."""
        if self._book is not None:
            with contextlib.suppress(ApiError):  # no run yet, or one that has just ended
                await self._client.pause(self._book.id)
        self._display.paused()
        return INTERRUPTED

    async def _begun(self) -> BookHandle | None:
        """The newest unfinished book with this title. If all are finished, the newest of them; None if there is none.

        With `--new`, finished books do not count.
        """
        title = self._options.title.strip()
        books = [book for book in await self._client.books.list() if book.title == title]
        for book in books:
            if book.status != "completed":
                self._display.say(
                    f"Continuing the book with this title and its original settings{self._otherwise(book)}."
                )
                return book
        if books and not self._options.new:
            self._display.say("The book with this title is finished. Use --new to write a new book with it.")
            return books[0]
        return None

    def _otherwise(self, book: BookHandle) -> str:
        """The options whose values differ from the existing book, as part of a message; empty if none differ."""
        kept = [
            f"--{option} {shlex.quote(str(book.data[field])[:MAX_SHOWN_CHARACTERS])}"
            for option, field in FIELDS.items()
            if field in (asked := self._asked()) and _plain(asked[field]) != _plain(book.data[field])
        ]
        return f": {', '.join(kept)}. Use another title to start another book" if kept else ""

    def _asked(self) -> dict[str, Any]:
        given = {field: getattr(self._options, option) for option, field in FIELDS.items()}
        return {field: value for field, value in given.items() if value not in (None, "")}

    async def _create(self) -> BookHandle:
        book = await self._client.books.create(self._options.title, **self._asked())
        if not self._options.author:
            self._display.say(f"The author is {book.data['author_name']}. Use --author to set another name.")
        if book.data["font_warning"]:
            self._display.say(book.data["font_warning"])
        return book

    async def _make(self, book: BookHandle, show: Callable[[Status], None]) -> bool:
        """Write the book and, if the account's plan includes it, have it edited and proofread. Returns whether it was.

        A failed cover is only reported, because the book is complete without a cover. Raises WritingEnded if the
        writing ends early for another reason.
        """
        every = self._server.poll_seconds
        try:
            await book.produce(show, cover=self._wants_cover, every=every)
            return True
        except WritingEnded as error:
            if error.details.get("stage") != COVER_STAGE:
                raise
            self._display.say(f"The cover could not be created: {in_words(error, OPTIONS)}")
            self._wants_cover = False
            return True
        except GenerationInProgress:
            pass  # another client has started a run of the chapters: continue it
        except PlanUpgradeRequired as error:
            if "addon" not in error.details:
                raise
            self._display.say(NO_PRODUCTION)
        await book.write(show, every=every)
        return False

    async def _report(self, book: BookHandle) -> None:
        """Show what the editor's reading and the proofreading have changed, and what they leave to the author."""
        show = {"review": self._display.edited, "proofreading": self._display.proofread}
        newest = {report["kind"]: report for report in reversed(await self._client.reports(book.id))}
        for kind, shown in show.items():
            if kind in newest and newest[kind]["status"] == "completed":
                shown([each async for each in self._client.suggestions(newest[kind]["id"])])

    async def _blurb(self, book: BookHandle) -> None:
        """Wait until the blurb is drafted from the finished book, because the files contain the blurb.

        Drafting may fail. After a while, this says that there is no blurb yet, and returns.
        """
        for look in range(MAX_BLURB_LOOKS):
            if (await book.reload()).data["blurb"]:
                return
            if look == 2:
                self._display.say("Drafting the blurb ...")
            await asyncio.sleep(BLURB_LOOK_SECONDS)
        self._display.say(
            "There is no blurb yet, so the files have none. To add the blurb, export the book again later."
        )

    async def _cover(self, book: BookHandle) -> Path | None:
        """Save the cover and return its path. If the book has no cover, it is generated first.

        If this fails, the failure is only reported and None is returned, because a book is complete without a cover.
        """
        try:
            if (await book.reload()).data["cover_image_url"] is None:
                self._display.say("Creating the cover ...")
                (made,) = await self._client.generate_cover(book.id, 1)
                book.data = await self._client.select_cover(book.id, made["id"])
            picture = await self._client.picture(book.data["cover_image_url"])
        except ApiError as error:
            self._display.say(f"The cover could not be created: {in_words(error, OPTIONS)}")
            return None
        path: Path = self._options.out / file_name(book.title, "jpg")
        await asyncio.to_thread(path.write_bytes, picture)
        self._display.picture(path)
        return path

    async def _export(self, book: BookHandle) -> int:
        cover = await self._cover(book) if self._wants_cover else None
        try:
            files = await book.save(self._options.out, self._options.format)
        except OSError as error:
            self._display.failed(f"{error.filename} can't be written: {error.strerror}.", {"retryable": True})
            return 1
        self._display.finished((await book.reload()).data, [cover, *files] if cover else files)
        if book.missing_chapters:
            self._display.missing(book.missing_chapters)
        return 0


def _plain(value: Any) -> str:
    return str(value).strip().casefold()


@contextlib.contextmanager
def _interruptible() -> Any:
    """A context in which the first Ctrl-C cancels the current task. The second Ctrl-C ends the program."""
    loop, task = asyncio.get_running_loop(), _present_task()

    def interrupt() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _present_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("Ctrl-C can be handled only inside a task.")
    return task


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise StartupError(f"{path} can't be written: {error.strerror}.") from error
