"""Whole books as they were answered last, each kept until its version changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from bookgen.models import Book, Chapter

MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class KeptBook:
    """An encoded book but for its estimate, which what the model's server shows changes at any time.

    `book` and `sketches`, its chapters without their texts, are what the estimate is made of.
    """

    version: str
    encoded: bytes
    book: Book
    sketches: Sequence[Chapter]


class KeptBooks:
    """The books that were read last, at most so many bytes of them together.

    Whoever asks has read the version from the database just now, so that nothing old is ever given.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._books: OrderedDict[int, KeptBook] = OrderedDict()

    def find(self, book_id: int, version: str) -> KeptBook | None:
        """The book in this version. The caller has found the version as the book's owner."""
        kept = self._books.get(book_id)
        if kept is None or kept.version != version:
            return None
        self._books.move_to_end(book_id)
        return kept

    def keep(self, book_id: int, kept: KeptBook) -> None:
        """In the place of an older version; the book unread for longest goes when there is no room."""
        self._forget(book_id)
        self._books[book_id] = kept
        self._held += len(kept.encoded)
        while self._held > self._most:
            self._forget(next(iter(self._books)))

    def _forget(self, book_id: int) -> None:
        if former := self._books.pop(book_id, None):
            self._held -= len(former.encoded)


KEPT_BOOKS: web.AppKey[KeptBooks] = web.AppKey("kept_books")
