"""The date that a file of a book bears."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bookgen.models import Book, Chapter


def last_change(book: Book, chapters: Sequence[Chapter]) -> datetime:
    """In UTC and whole seconds, which is what every format can carry."""
    last = max([book.updated_at, *(chapter.updated_at for chapter in chapters)])
    return last.astimezone(UTC).replace(microsecond=0)
