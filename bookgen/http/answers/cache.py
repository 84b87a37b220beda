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
class KeptList:
    """An account's encoded list of books."""

    version: str
    encoded: bytes

    @property
    def size(self) -> int:
        return len(self.encoded)


_OF_A_SKETCH = 1024  # approximate bytes of a sketch, without its texts


class KeptChapter(NamedTuple):
    """An encoded chapter, and its sketch without the text. `version` is empty if it has pictures, because a change of
    them does not change the chapter's row."""

    version: str
    sketch: Sketch
    encoded: bytes

    @property
    def size(self) -> int:
        told = self.sketch.chapter
        return len(self.encoded) + len(told.title) + len(told.summary) + _OF_A_SKETCH


@dataclass(frozen=True, slots=True)
class KeptBook:
    """An encoded book without its estimate, which changes with the speed of the model.

    `head` has everything but the chapters. They are stored by id, in order.
    """

    version: str
    head: bytes
    chapters: Mapping[int, KeptChapter]
    estimate: Callable[[], Estimate] | None

    @property
    def size(self) -> int:
        return len(self.head) + sum(each.size for each in self.chapters.values())

    def unchanged(self, versions: Mapping[int, str]) -> dict[int, KeptChapter]:
        """The cached chapters that still have these versions."""
        return {number: each for number, each in self.chapters.items() if each.version == versions.get(number)}


K = TypeVar("K", KeptBook, KeptList)


class KeptAnswers(Generic[K]):
    """A cache of one kind of answers by the id of their resource, bounded in bytes.

    The caller has just read the version from the database as the owner, so no stale answer is returned.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._answers: OrderedDict[int, K] = OrderedDict()

    def latest(self, number: int) -> K | None:
        """The cached answer in its latest version."""
        return self._answers.get(number)

    def find(self, number: int, version: str) -> K | None:
        """The cached answer, if it has this version."""
        kept = self.latest(number)
        if kept is None or kept.version != version:
            return None
        self._answers.move_to_end(number)
        return kept

    def keep(self, number: int, kept: K) -> None:
        """Cache the answer instead of an older version. The least recently used ones are evicted to make room."""
        self.forget(number)
        self._answers[number] = kept
        self._held += kept.size
        while self._held > self._most:
            self.forget(next(iter(self._answers)))

    def forget(self, number: int) -> None:
        if former := self._answers.pop(number, None):
            self._held -= former.size


KEPT_BOOKS: web.AppKey[KeptAnswers[KeptBook]] = web.AppKey("kept_books")
KEPT_LISTS: web.AppKey[KeptAnswers[KeptList]] = web.AppKey("kept_lists")
