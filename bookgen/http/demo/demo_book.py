"""The demo book: three chapters written by people, with the same JSON fields as any other book."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from bookgen.http.books_schemas import BookArtwork, BookCreationSchema, estimated, shown_whole
from bookgen.http.chapters_schemas import shown_chapter
from bookgen.http.edge import replies
from bookgen.http.edge.schemas import load
from bookgen.models import Book, BookStatus, Chapter, ChapterStatus, Usage
from bookgen.words import count_words

FOLDER = Path(__file__).parent
WRITTEN = datetime(2026, 11, 20, tzinfo=UTC)


@cache
def body() -> bytes:
    """The demo book as the API returns books, in JSON. It belongs to no account."""
    told = json.loads((FOLDER / "book.json").read_text("utf-8"))
    chapters = [_chapter(number, entry) for number, entry in enumerate(told.pop("chapters"), 1)]
    book = _book(told, len(chapters), sum(chapter.word_count for chapter in chapters))
    usage = asdict(Usage()) | {"currency": "USD"}
    whole = shown_whole(book, chapters, None, (), usage, BookArtwork()) | estimated(None)
    return replies.dump(whole | {"chapters": [shown_chapter(chapter, ()) for chapter in chapters]})


def _book(told: dict[str, Any], chapter_count: int, words: int) -> Book:
    given = load(BookCreationSchema(), told) | {"chapter_count": chapter_count, "target_word_count": words}
    return Book(
        id=0,
        account_id=0,
        status=BookStatus.COMPLETED,
        bible={},
        funding_source=None,
        created_at=WRITTEN,
        updated_at=WRITTEN,
        **given,
    )


def _chapter(number: int, entry: dict[str, str]) -> Chapter:
    content = (FOLDER / f"{number}.md").read_text("utf-8").strip()
    words = count_words(content)
    return Chapter(
        id=number,
        book_id=0,
        chapter_number=number,
        content=content,
        word_count=words,
        target_word_count=words,
        status=ChapterStatus.COMPLETED,
        content_version=1,
        created_at=WRITTEN,
        updated_at=WRITTEN,
        title=entry["title"],
        summary=entry["summary"],
    )
