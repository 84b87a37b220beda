"""The demo book: written by hand for this project, three chapters, the same shape as anybody's book."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from bookgen.http.edge import replies
from bookgen.http.representations import chapter_body, listed_book
from bookgen.models import Book, BookStatus, Chapter, ChapterStatus
from bookgen.words import count_words

FOLDER = Path(__file__).parent / "demo"
WRITTEN = datetime(2026, 11, 20, tzinfo=UTC)


@cache
def body() -> bytes:
    """The book as the API answers it; no account owns it and no run wrote it."""
    told = json.loads((FOLDER / "book.json").read_text("utf-8"))
    chapters = [_chapter(number, entry) for number, entry in enumerate(told.pop("chapters"), 1)]
    words = sum(chapter.word_count for chapter in chapters)
    return replies.dump(
        {
            **listed_book(_book(told, len(chapters), words), len(chapters), words),
            "chapters": [chapter_body(chapter) for chapter in chapters],
            "covers": [],
            "quality": [],
            "usage": _NO_USAGE,
            "estimated_cost_micros": None,
            "estimated_seconds": None,
        }
    )


_NO_USAGE = {
    "calls": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_write_tokens": 0,
    "cache_read_tokens": 0,
    "images": 0,
    "cost_micros": 0,
    "currency": "USD",
    "unknown_price": False,
}


def _book(told: dict[str, Any], chapter_count: int, words: int) -> Book:
    return Book(
        id=0,
        account_id=0,
        chapter_count=chapter_count,
        target_word_count=words,
        status=BookStatus.COMPLETED,
        bible={},
        funding_source=None,
        created_at=WRITTEN,
        updated_at=WRITTEN,
        **told,
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
