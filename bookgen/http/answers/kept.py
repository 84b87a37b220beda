"""Large answers as they were given last, each kept until the version of what it shows changes."""

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
    """An account's books as they are listed."""

    version: str
    encoded: bytes

    @property
    def size(self) -> int:
        return len(self.encoded)


_OF_A_SKETCH = 1024  # bytes, about, beside what it says


class KeptChapter(NamedTuple):
    """An encoded chapter, and its sketch without the text. `version` is empty where it has pictures, which its row does
    not tell of."""

    version: str
    sketch: Sketch
    encoded: bytes

    @property
    def size(self) -> int:
        told = self.sketch.chapter
        return len(self.encoded) + len(told.title) + len(told.summary) + _OF_A_SKETCH


@dataclass(frozen=True, slots=True)
class KeptBook:
    """An encoded book but for its estimate, which what the model's server shows changes at any time.

    `head` has everything but the chapters, which are by their ids in their order.
    """

    version: str
    head: bytes
    chapters: Mapping[int, KeptChapter]
    estimate: Callable[[], Estimate] | None

    @property
    def size(self) -> int:
        return len(self.head) + sum(each.size for each in self.chapters.values())

    def unchanged(self, versions: Mapping[int, str]) -> dict[int, KeptChapter]:
        """The chapters that have these versions still."""
        return {number: each for number, each in self.chapters.items() if each.version == versions.get(number)}


K = TypeVar("K", KeptBook, KeptList)


class KeptAnswers(Generic[K]):
    """Answers of one kind by the id of what they show, at most so many bytes of them together.

    Whoever asks has read the version from the database just now, as the owner, so that nothing old is ever given.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._answers: OrderedDict[int, K] = OrderedDict()

    def latest(self, number: int) -> K | None:
        """The answer in the version in which it was kept last."""
        return self._answers.get(number)

    def find(self, number: int, version: str) -> K | None:
        """The answer in this version."""
        kept = self.latest(number)
        if kept is None or kept.version != version:
            return None
        self._answers.move_to_end(number)
        return kept

    def keep(self, number: int, kept: K) -> None:
        """In the place of an older version; the answer unread for longest goes when there is no room."""
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
