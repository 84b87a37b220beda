"""A cache of JSON responses. An entry is valid until the version of the book or list changes."""

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
    """An account's list of books, as JSON bytes (`encoded`)."""

    version: str
    encoded: bytes

    @property
    def size(self) -> int:
        return len(self.encoded)


_OF_A_SKETCH = 1024  # approximate bytes of a sketch, without its texts


class CachedChapter(NamedTuple):
    """A chapter as JSON bytes (`encoded`), with its `sketch`: the chapter's database row without the text.

    The `version` of a chapter with pictures is empty, so that the chapter is encoded again each time: the version of
    the database row does not change when a picture does.
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

    `estimate` computes how much time and money writing the book would take now; the result depends on the model's
    current speed. It is None if the book has no outline.
    """

    version: str
    head: bytes
    chapters: Mapping[int, CachedChapter]
    estimate: Callable[[], Estimate] | None

    @property
    def size(self) -> int:
        return len(self.head) + sum(each.size for each in self.chapters.values())

    def unchanged(self, versions: Mapping[int, str]) -> dict[int, CachedChapter]:
        """The cached chapters whose version is the same as in `versions`. Both mappings are keyed by chapter id."""
        return {number: each for number, each in self.chapters.items() if each.version == versions.get(number)}


K = TypeVar("K", CachedBook, CachedList)


class AnswerCache(Generic[K]):
    """A cache of books by book id, or of lists by account id. Its size is at most `most_bytes`.

    Before calling `find`, the caller reads the current version of the book or list from the database, in a query that
    also checks the owner. So `find` never returns an outdated entry or one of another account.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._answers: OrderedDict[int, K] = OrderedDict()

    def latest(self, number: int) -> K | None:
        """The cached entry for this book id or account id, which may be outdated; None if there is no entry."""
        return self._answers.get(number)

    def find(self, number: int, version: str) -> K | None:
        """The cached entry if it has this version, otherwise None."""
        cached = self.latest(number)
        if cached is None or cached.version != version:
            return None
        self._answers.move_to_end(number)
        return cached

    def keep(self, number: int, cached: K) -> None:
        """Cache the entry in place of the previous version. Evicts the least recently used entries to make room."""
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
