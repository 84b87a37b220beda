"""What writing a book would take, worked out once for each version of the book."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bookgen.http.edge.keys import RunEstimate
from bookgen.models import Book, Chapter

Estimate = Callable[[Book, Sequence[Chapter]], RunEstimate]

MOST_BOOKS = 2_000


def remembered(estimate: Estimate, most: int = MOST_BOOKS) -> Estimate:
    """The same estimate; working it out takes longer than reading the book, and books are read again and again."""
    known: dict[int, tuple[Any, RunEstimate]] = {}

    def ask(book: Book, chapters: Sequence[Chapter]) -> RunEstimate:
        version = (book.updated_at, *((chapter.id, chapter.updated_at) for chapter in chapters))
        seen, found = known.pop(book.id, (None, None))
        if found is None or seen != version:
            found = estimate(book, chapters)
        known[book.id] = version, found
        if len(known) > most:
            del known[next(iter(known))]
        return found

    return ask
