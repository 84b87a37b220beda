"""What every call of a book is given, static first, so that a provider's prompt cache reads most of it.

In order: craft and book (the same for the whole book), a block for each earlier chapter (only ever appended),
then, in the user's turn, what changes with every chapter. Nothing here depends on the clock, on the order of a
mapping or on the chapter that is being written, except what is meant to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.models import Book, Chapter, Digest
from bookgen.providers.text import Block
from bookgen.writing.voice import craft
from bookgen.writing.window import clip

# Tokens. Together with a part and its chapter so far they stay within window.WINDOW at 120 chapters.
BIBLE = 2_400
DESCRIPTION = 1_400
ALL_BRIEFS = 7_000
ALL_DIGESTS = 10_000
LEAST_OF_A_CHAPTER = 40
MOST_OF_A_BRIEF = 200
MOST_OF_A_DIGEST = 320

_DATA = "<book_data>\n{}\n</book_data>"


def data(text: str) -> str:
    """`text` as material that cannot close its own block."""
    return _DATA.format(text.replace("book_data>", "book data>"))


def book_data(book: Book) -> str:
    """The book's own fields, as its owner typed them."""
    lines = [
        ("Title", book.title),
        ("Subtitle", book.subtitle),
        ("Genre", book.genre),
        ("Audience", book.target_audience),
        ("Idea", clip(book.description, DESCRIPTION)),
        ("Wishes for the style", book.style_notes),
    ]
    return data("\n".join(f"{name}: {value.strip()}" for name, value in lines if value.strip()))


BOOK = """\
{craft}

# The book

{book}

# What is settled about it

{bible}

# All its chapters, in order

{outline}"""


def system(
    book: Book, chapters: Sequence[Chapter], digests: Sequence[Digest], *, first_call: bool = False
) -> tuple[Block, ...]:
    """The system prompt of a call that writes: the book, then what its earlier chapters told.

    The first call of a chapter also marks where the prefix of the chapter before it ended, to read it from there.
    """
    static = BOOK.format(
        craft=craft(book),
        book=book_data(book),
        bible=data(clip(bible(book.bible), BIBLE)),
        outline=data(outline(chapters)),
    )
    return (Block(static, cache=True), *told(chapters, digests, marks=2 if first_call else 1))


def bible(settled: Mapping[str, Any]) -> str:
    """The bible as lines; whatever its shape, since its owner may edit it."""
    return "\n".join(_bible_lines(settled)) or "Nothing yet."


_FIRST_KEYS = ("premise", "voice", "arc", "people", "places", "terms", "name", "description")


def _ordered(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The fields in one order, whatever order a database gives them in."""
    ranks = {key: rank for rank, key in enumerate(_FIRST_KEYS)}
    return sorted(record.items(), key=lambda field: (ranks.get(str(field[0]), len(ranks)), str(field[0])))


def _bible_lines(settled: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, value in _ordered(settled):
        name = str(key).replace("_", " ").capitalize()
        if isinstance(value, str) and value.strip():
            lines.append(f"{name}: {value.strip()}")
        elif isinstance(value, list) and value:
            lines.append(f"{name}:")
            lines.extend(f"- {_entry(item)}" for item in value)
        elif value and not isinstance(value, str):
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}")
    return lines


def _entry(item: object) -> str:
    if isinstance(item, Mapping):
        return ": ".join(str(part).strip() for _, part in _ordered(item) if str(part).strip())
    return str(item).strip()


def outline(chapters: Sequence[Chapter]) -> str:
    most = share(ALL_BRIEFS, len(chapters), MOST_OF_A_BRIEF)
    return "\n".join(
        clip(f"{chapter.chapter_number}. {chapter.title}: {chapter.summary}".rstrip(": "), most) for chapter in chapters
    )


def told(chapters: Sequence[Chapter], digests: Sequence[Digest], *, marks: int = 0) -> tuple[Block, ...]:
    """One block for each earlier chapter. A block never changes while its chapter's text does not.

    The last `marks` blocks end a cached prefix.
    """
    titles = {chapter.chapter_number: chapter.title for chapter in chapters}
    most = share(ALL_DIGESTS, len(chapters), MOST_OF_A_DIGEST)
    marked = len(digests) - marks
    return tuple(
        Block(clip(_told(digest, titles.get(digest.chapter_number, "")), most), cache=place >= marked)
        for place, digest in enumerate(digests)
    )


def _told(digest: Digest, title: str) -> str:
    lines = [f"Chapter {digest.chapter_number}, {title}, has told: {digest.summary}"]
    if digest.facts:
        lines.append("Settled by it: " + "; ".join(digest.facts) + ".")
    return "\n".join(lines)


def share(tokens: int, chapters: int, most: int) -> int:
    """A chapter's share depends on the number of chapters alone, so that prefixes stay as they are."""
    return max(LEAST_OF_A_CHAPTER, min(most, tokens // max(chapters, 1)))
