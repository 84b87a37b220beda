"""Which rows go on which page: a search over whole chapters for pages without widows whose spreads end level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bookgen.render.layout.rows import Row

WIDOW, ORPHAN, STRANDED, UNEVEN, SHORT, THIN_END, TRAILING_BLANK = 150.0, 70.0, 500.0, 90.0, 4.0, 30.0, 60.0
_MOST_SHORT = 3
_LEAST_LAST = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """One page: rows `start` to `end`, ending `short` lines above the foot."""

    start: int
    end: int
    short: int


@dataclass(slots=True)
class _Node:
    cost: float
    cut: Cut | None
    before: _Node | None


class PageSearch:
    """`capacity` in grid lines; `note_height` in points for each note; a page with notes gives up `note_gap` more."""

    def __init__(
        self, rows: Sequence[Row], capacity: int, lead: float, note_heights: Mapping[int, float], note_gap: float
    ) -> None:
        self._rows = rows
        self._capacity = capacity
        self._lead = lead
        self._note_gap = note_gap
        self._units = [0]
        self._notes = [0.0]
        for row in rows:
            self._units.append(self._units[-1] + row.units)
            self._notes.append(self._notes[-1] + sum(note_heights[note] for note in row.notes))

    def cuts(self, first_is_recto: bool = True) -> list[Cut]:
        """The cheapest pages, first to last."""
        count = len(self._rows)
        if not count:
            return []
        layer: dict[tuple[int, int], _Node] = {(0, 0): _Node(0.0, None, None)}
        recto = first_is_recto
        best: _Node | None = None
        page = 0
        while layer and page <= 2 * count:
            following: dict[tuple[int, int], _Node] = {}
            for (start, verso_short), node in layer.items():
                if best is not None and node.cost >= best.cost:
                    continue
                for cut, cost in self._pages_from(start, page == 0):
                    if recto and page and cut.end < count:
                        cost += UNEVEN * abs(cut.short - verso_short)
                    total = node.cost + cost
                    if cut.end >= count:
                        if best is None or total < best.cost:
                            best = _Node(total, cut, node)
                        continue
                    key = (cut.end, 0 if recto else cut.short)
                    known = following.get(key)
                    if known is None or total < known.cost:
                        following[key] = _Node(total, cut, node)
            layer = following
            recto = not recto
            page += 1
        return _path(best)

    def _pages_from(self, start: int, opening: bool) -> list[tuple[Cut, float]]:
        """Every page worth looking at that begins at row `start`."""
        rows, count = self._rows, len(self._rows)
        if not opening:
            while start < count - 1 and rows[start].blank:
                start += 1
        room = self._capacity - sum(row.units for row in rows[start].head)
        found: list[tuple[Cut, float]] = []
        end = self._fullest(start, room)
        while end > start:
            short = room - self._used(start, end)
            if end < count and short > _MOST_SHORT and found:
                break
            found.append((Cut(start, end, max(0, short)), self._cost(start, end, short)))
            if end >= count:
                break
            end -= 1
        return found

    def _fullest(self, start: int, room: int) -> int:
        end = start
        count = len(self._rows)
        while end < count and self._used(start, end + 1) <= room:
            end += 1
        return max(end, start + 1)

    def _used(self, start: int, end: int) -> int:
        notes = self._notes[end] - self._notes[start]
        extra = math.ceil((notes + self._note_gap) / self._lead) if notes else 0
        return self._units[end] - self._units[start] + extra

    def _cost(self, start: int, end: int, short: int) -> float:
        rows = self._rows
        if end >= len(rows):
            return THIN_END if start and self._units[end] - self._units[start] < _LEAST_LAST else 0.0
        above, below = rows[end - 1], rows[end]
        cost = SHORT * min(short, 8) ** 2 + 40.0 * max(0, short - _MOST_SHORT)
        if short < 0:
            cost += 2000.0
        if above.keep:
            cost += STRANDED
        if above.blank:
            cost += TRAILING_BLANK
        elif not below.blank and not below.first:
            if above.first and not above.last:
                cost += ORPHAN
            if below.last:
                cost += WIDOW
        return cost


def _path(node: _Node | None) -> list[Cut]:
    cuts: list[Cut] = []
    while node is not None and node.cut is not None:
        cuts.append(node.cut)
        node = node.before
    cuts.reverse()
    return cuts
