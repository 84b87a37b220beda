"""How often a book's actor may crash before its run is given up, and when crashing is not the book's fault."""

from __future__ import annotations

from collections import defaultdict, deque

MOST_RESTARTS = 3
WINDOW_SECONDS = 60.0
SYSTEMIC_BOOKS = 20
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0


class Restarts:
    """Counts crashes by book over a sliding minute."""

    def __init__(self) -> None:
        self._crashes: defaultdict[int, deque[float]] = defaultdict(deque)

    def crashed(self, book_id: int, now: float) -> None:
        self._crashes[book_id].append(now)

    def spent(self, book_id: int, now: float) -> bool:
        """Whether the book has used up its restarts. Never while so many fail that it is not the books."""
        self._forget(now)
        return len(self._crashes.get(book_id, ())) > MOST_RESTARTS and not self.systemic(now)

    def books(self, now: float) -> int:
        """How many books have crashed of late."""
        self._forget(now)
        return len(self._crashes)

    def systemic(self, now: float) -> bool:
        return self.books(now) > SYSTEMIC_BOOKS

    def wait(self, book_id: int) -> float:
        """Seconds until the next start: 1, 2, 4 … 30."""
        crashes = len(self._crashes.get(book_id, ()))
        return min(FIRST_WAIT * 2.0 ** max(crashes - 1, 0), LONGEST_WAIT)

    def _forget(self, now: float) -> None:
        for book_id, times in list(self._crashes.items()):
            while times and times[0] < now - WINDOW_SECONDS:
                times.popleft()
            if not times:
                del self._crashes[book_id]
