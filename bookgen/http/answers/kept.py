"""Large answers as they were given last, each kept until the version of what it shows changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from aiohttp import web

from bookgen.actors.batches import Batches
from bookgen.models import Estimate
from bookgen.store import books
from bookgen.store.books import BookVersion
from bookgen.store.database import DB

MOST_VERSIONS = 64  # read in one statement
MOST_BYTES_OF_BOOKS, MOST_BYTES_OF_LISTS = 64 << 20, 16 << 20


@dataclass(frozen=True, slots=True)
class KeptList:
    """An account's books as they are listed."""

    version: str
    encoded: bytes


@dataclass(frozen=True, slots=True)
class KeptBook:
    """An encoded book but for its estimate, which what the model's server shows changes at any time."""

    version: str
    encoded: bytes
    estimate: Callable[[], Estimate] | None


K = TypeVar("K", KeptBook, KeptList)


class KeptAnswers(Generic[K]):
    """Answers of one kind by the id of what they show, at most so many bytes of them together.

    Whoever asks has read the version from the database just now, as the owner, so that nothing old is ever given.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._answers: OrderedDict[int, K] = OrderedDict()

    def find(self, number: int, version: str) -> K | None:
        """The answer in this version."""
        kept = self._answers.get(number)
        if kept is None or kept.version != version:
            return None
        self._answers.move_to_end(number)
        return kept

    def keep(self, number: int, kept: K) -> None:
        """In the place of an older version; the answer unread for longest goes when there is no room."""
        self.forget(number)
        self._answers[number] = kept
        self._held += len(kept.encoded)
        while self._held > self._most:
            self.forget(next(iter(self._answers)))

    def forget(self, number: int) -> None:
        if former := self._answers.pop(number, None):
            self._held -= len(former.encoded)


def book_versions(db: DB) -> Batches[tuple[int, int], BookVersion]:
    """What reads the versions of books, which are told by account and book."""
    return Batches(lambda keys: books.versions(db, keys), lambda key: key, MOST_VERSIONS)


BOOK_VERSIONS: web.AppKey[Batches[tuple[int, int], BookVersion]] = web.AppKey("book_versions")
KEPT_BOOKS: web.AppKey[KeptAnswers[KeptBook]] = web.AppKey("kept_books")
KEPT_LISTS: web.AppKey[KeptAnswers[KeptList]] = web.AppKey("kept_lists")
