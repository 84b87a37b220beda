"""The commands that the pages for operators print: in fenced blocks, sentences and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

from tests.service import ROOT

PAGES = ("install", "configure", "operate", "upgrade")
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
# Programs in sentences, beside bookgen.
PROGRAMS = r"(\S*/)?(apt|chgrp|chmod|docker|helm|kubectl|make|pip|psql|pg_\w+|python3|sudo|systemctl)"


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A fenced block. `name`: its page and first line."""

    name: str
    language: str
    text: str


def text_of(page: str) -> str:
    return (ROOT / f"docs/{page}.md").read_text()


def blocks() -> list[FencedBlock]:
    """All fenced blocks of the pages."""
    found = []
    for page in PAGES:
        for _, language, text in FENCED.findall(text_of(page)):
            lines = dedent(text)
            found.append(FencedBlock(f"{page}: {lines.splitlines()[0]}", language, lines))
    return found


def spans() -> Iterator[str]:
    """The code in sentences and tables, once for each page."""
    for page in PAGES:
        yield from dict.fromkeys(" ".join(each.split()) for each in SPAN.findall(FENCED.sub("", text_of(page))))


def commands() -> set[str]:
    """The commands of bookgen that sentences and tables name, without their arguments: such as `account create`."""
    named = {_words(each.removeprefix("bookgen ")) for each in spans() if each.startswith("bookgen ")}
    return (named | set(_listed())) - {""}


def other_programs() -> set[str]:
    """The commands of other programs that sentences print."""
    return {each for each in spans() if re.match(rf"{PROGRAMS} ", each)}


def _listed() -> Iterator[str]:
    """The commands of the table. Only the first one of a row is written in full."""
    for cell in re.findall(r"^\| (`bookgen [^|]+) \|", text_of("operate"), re.MULTILINE):
        first, *others = (_words(each) for each in SPAN.findall(cell))
        yield first.removeprefix("bookgen ")
        room = first.split()[1]
        yield from (f"{room} {each}" for each in others if each)


def _words(span: str) -> str:
    """The leading words of a command, without arguments and options."""
    match = re.match(r"[a-z]+(-[a-z]+)*( [a-z]+(-[a-z]+)*)*(?= |$)", span)
    return match.group() if match else ""
