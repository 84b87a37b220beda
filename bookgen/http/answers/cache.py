"""A cache of encoded answers, each valid until the version of its content changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from aiohttp import web

from bookgen.models import Estimate
from bookgen.store.chapters import Sketch

MAX_BOOK_BYTES, MAX_LIST_BYTES = 64 << 20, 16 << 20


@dataclass(frozen=True, slots=True)
class CachedList:
    """An account's encoded list of books."""

    version: str
    encoded: bytes

    @property
    def size(self) -> int:
        return len(self.encoded)


_OF_A_SKETCH = 1024  # approximate bytes of a sketch, without its texts


class CachedChapter(NamedTuple):
    """A chapter as JSON bytes (`encoded`), with its `sketch`: the chapter's database row without the text.

    A chapter with pictures has an empty `version`, so it is encoded again each time. Its row's version would not do,
    since it stays the same when a picture changes.
    """

    version: str
    sketch: Sketch
    encoded: bytes

    @property
    def size(self) -> int:
        told = self.sketch.chapter
        return len(self.encoded) + len(told.title) + len(told.summary) + _OF_A_SKETCH


@dataclass(frozen=True, slots=True)
class CachedBook:
    """A book as JSON bytes. `head` has all fields except the chapters and the estimate. `chapters` is keyed by id.

    `estimate` returns the cost and time that writing the book would take now, which depend on the model's speed. It is
    None if the book has no outline.
    """

    version: str
    head: bytes
    chapters: Mapping[int, CachedChapter]
    estimate: Callable[[], Estimate] | None

    @property
    def size(self) -> int:
        return len(self.head) + sum(each.size for each in self.chapters.values())

    def unchanged(self, versions: Mapping[int, str]) -> dict[int, CachedChapter]:
        """The cached chapters whose version is still the one in `versions`. Both are keyed by chapter id."""
        return {number: each for number, each in self.chapters.items() if each.version == versions.get(number)}


K = TypeVar("K", CachedBook, CachedList)


class AnswerCache(Generic[K]):
    """A cache of books by book id, or of lists by account id, of at most `most_bytes` bytes.

    Before `find`, the caller reads the current version of the book or list from the database, in a query that also
    checks the owner. So `find` returns neither an outdated answer nor one of another account.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._answers: OrderedDict[int, K] = OrderedDict()

    def latest(self, number: int) -> K | None:
        """The cached answer for the book id or account id `number`, which may be out of date; None if there is none."""
        return self._answers.get(number)

    def find(self, number: int, version: str) -> K | None:
        """The cached answer if it has this version, otherwise None."""
        cached = self.latest(number)
        if cached is None or cached.version != version:
            return None
        self._answers.move_to_end(number)
        return cached

    def keep(self, number: int, cached: K) -> None:
        """Cache the answer in place of an older version. Evicts the least recently used answers to make room."""
        self.forget(number)
        self._answers[number] = cached
        self._held += cached.size
        while self._held > self._most:
            self.forget(next(iter(self._answers)))

    def forget(self, number: int) -> None:
        if former := self._answers.pop(number, None):
            self._held -= former.size


BOOK_CACHE: web.AppKey[AnswerCache[CachedBook]] = web.AppKey("book_cache")
LIST_CACHE: web.AppKey[AnswerCache[CachedList]] = web.AppKey("list_cache")
