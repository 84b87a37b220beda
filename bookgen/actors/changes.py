"""Who waits in this process for a book's status to change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class Changes:
    """Wakes those who wait, by book."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[asyncio.Event]] = {}

    @contextlib.contextmanager
    def of(self, book_id: int) -> Iterator[asyncio.Event]:
        """An event that is set at every change of the book."""
        changed = asyncio.Event()
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
