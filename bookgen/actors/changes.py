"""Who waits in this process for a book's status to change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class Change:
    """An event that one task waits for. An asyncio.Event takes more memory, for many that wait: here are thousands."""

    __slots__ = ("_is_set", "_told")

    def __init__(self) -> None:
        self._is_set = False
        self._told: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._is_set = True
        if self._told is not None and not self._told.done():
            self._told.set_result(None)

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        if self._is_set:
            return
        self._told = asyncio.get_running_loop().create_future()
        try:
            await self._told
        finally:
            self._told = None


class Changes:
    """Wakes those who wait, by book."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[Change]] = {}

    @contextlib.contextmanager
    def of(self, book_id: int) -> Iterator[Change]:
        """An event that is set at every change of the book."""
        changed = Change()
        others = self._waiting.setdefault(book_id, set())
        others.add(changed)
        try:
            yield changed
        finally:
            others.remove(changed)
            if not others:
                del self._waiting[book_id]

    def tell(self, book_id: int) -> None:
        for changed in self._waiting.get(book_id, ()):
            changed.set()

    def tell_all(self) -> None:
        for book_id in self._waiting:
            self.tell(book_id)

    def __len__(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))
