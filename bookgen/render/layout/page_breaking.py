"""Page breaking: a search over the whole chapter for pages without widows, and for facing pages of equal length."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from typing import Any, NamedTuple

from bookgen.render.layout.rows import Row

WIDOW, ORPHAN, STRANDED, UNEVEN = 900.0, 500.0, 1500.0, 90.0
SHORT, THIN_END, CHANGED = 4.0, 30.0, 12.0
DIVIDED = 540.0  # as much as ten empty lines
DEFECT = 80.0  # if the pages cost more, re-setting paragraphs is tried
_MAX_SHORT = 3
_MIN_LAST = 4
# Keeping rows together may leave half a page empty. These bounds make that cheaper than STRANDED.
_MAX_UNEVEN_LINES = 4
_MAX_COUNTED_LINES = 18

Change = tuple[int, int]  # a paragraph, and how many lines it gains
_Span = tuple[int, int, int]
CanChange = Callable[[int, int], bool]


class Cut(NamedTuple):
    """One page: the rows from `start` up to but excluding `end`.

    `changes`: the paragraphs of the page that are set a line longer or shorter.
    """

    start: int
    end: int
    changes: tuple[Change, ...]


# A candidate page: cost, first row, row after the last, lines left empty at the foot, changes.
# A path of pages: its cost, its last page, the path before that. Plain tuples for speed, since a long chapter has
# thousands of them.
_Page = tuple[float, int, int, int, tuple[Change, ...]]
_Path = tuple[float, Any, Any]


class PageSearch:
    """Finds the page breaks of one chapter.

    `capacity` is the height of a page in grid lines. `note_heights` are the heights of the footnotes, and `note_gap` is
    the space above the footnotes of a page. Both are in points, as is `lead`, the height of a grid line.
    `can_change(paragraph, change)` says whether a paragraph can be set a line longer (1) or shorter (-1). It is called
    only if no good pages are found without such changes.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        capacity: int,
        lead: float,
        note_heights: Mapping[int, float],
        note_gap: float,
        can_change: CanChange,
    ) -> None:
        self._rows = rows
        self._capacity = capacity
        self._lead = lead
        self._note_gap = note_gap
        self._can_change = can_change
        self._changing = False
        self._spans: dict[int, list[_Span]] = {}
        self._pages: dict[int, list[_Page]] = {}
        self._changed: dict[int, list[_Page]] = {}
        self._begun = [index for index, row in enumerate(rows) if row.begins_page]
        self._units = [0.0]
        self._notes = [0.0]
        for row in rows:
            self._units.append(self._units[-1] + row.units)
            self._notes.append(self._notes[-1] + sum(note_heights[note] for note in row.notes))

    def cuts(self, *, first_is_recto: bool) -> list[Cut]:
        """The pages with the lowest total cost, first to last."""
        if not self._rows:
            return []
        best = self._search(first_is_recto)
        if best[0] > DEFECT:
            self._find_spans()
            self._changing = True
            best = self._search(first_is_recto, most=best[0])
        return _cuts(best)

    def _search(self, recto: bool, most: float = math.inf) -> _Path:
        """The cheapest path of pages over all rows.

        The search goes page by page and keeps the cheapest path to each page end. Where a left-hand page ends, it keeps
        one path for each number of empty lines at the foot. `recto`: the first page is a right-hand page. `most`: the
        cost of a known path; costlier paths are dropped.
        """
        count = len(self._rows)
        layer: dict[tuple[int, int], _Path] = {(0, 0): (0.0, None, None)}
        best: _Path = (math.inf, None, None)
        page = 0
        while layer and page <= 2 * count:
            following: dict[tuple[int, int], _Path] = {}
            for (start, verso_short), path in layer.items():
                spent = path[0]
                if spent >= best[0]:
                    continue
                for found in self._pages_from(start, page == 0):
                    cost, _, end, short, _ = found
                    total = spent + cost
                    if end >= count:
                        if total < best[0]:
                            best = (total, found, path)
                        continue
                    if recto and page:
                        total += UNEVEN * min(abs(short - verso_short), _MAX_UNEVEN_LINES)
                    if total > most:
                        continue
                    key = (end, 0 if recto else short)
                    known = following.get(key)
                    if known is None or total < known[0]:
                        following[key] = (total, found, path)
            layer = following
            recto = not recto
            page += 1
        return best

    def _pages_from(self, start: int, opening: bool) -> list[_Page]:
        """All candidate pages that begin at row `start`. `opening`: it is the chapter's first page."""
        kept = self._changed if self._changing else self._pages
        known = kept.get(start)
        if known is None:
            known = kept[start] = self._find_pages(start, opening)
        return known

    def _find_pages(self, asked: int, opening: bool) -> list[_Page]:
        rows, count = self._rows, len(self._rows)
        start = asked
        if not opening:
            while start < count - 1 and rows[start].blank:
                start += 1
        end = self._end_of_fullest(start)
        found: list[_Page] = []
        if self._changing:
            if end < count:
                self._add_changed(found, start, end)
            if asked in self._pages:
                return found + self._pages[asked]
        while end > start:
            if end < count and rows[end - 1].blank and end - 1 > start:
                end -= 1  # the same as the page that ends before the blank
                continue
            short = self._capacity - self._used(start, end)
            if end < count and short > _MAX_SHORT and any(page[0] <= _cost_of_short(short) for page in found):
                break  # a page that ends earlier is no better
            found.append((self._cost(start, end, short), start, end, self._seen_short(start, end, short), ()))
            if end >= count:
                break
            end -= 1
        return found

    def _add_changed(self, found: list[_Page], start: int, fullest: int) -> None:
        """Add to `found` the pages that become full if one or two paragraphs on them are a line longer or shorter.

        `fullest`: the row after the fullest page from `start`.
        """
        for end, wanted in ((fullest - 1, 1), (fullest - 2, 2), (fullest + 1, -1)):
            if not start < end < len(self._rows) or self._rows[end - 1].begins_page:
                continue
            short = self._capacity - self._used(start, end) - wanted
            if not 0 <= short <= 1:
                continue
            changes = self._changes(start, end, 1 if wanted > 0 else -1, abs(wanted))
            if len(changes) == abs(wanted):
                cost = self._cost(start, end, short) + CHANGED * len(changes)
                found.append((cost, start, end, self._seen_short(start, end, short), changes))

    def _changes(self, start: int, end: int, change: int, count: int) -> tuple[Change, ...]:
        """Changes for the longest `count` paragraphs that lie wholly within the rows.

        Only paragraphs that can be set longer (`change` 1) or shorter (-1) are counted.
        """
        spans = self._spans[change]
        within = [
            (first - behind, paragraph)
            for first, behind, paragraph in spans[bisect_left(spans, (start,)) : bisect_left(spans, (end,))]
            if behind <= end
        ]
        return tuple((paragraph, change) for _, paragraph in nsmallest(count, within))

    def _find_spans(self) -> None:
        """Collect the paragraphs that can be set longer, and those that can be set shorter.

        Each is stored as its first row, the row after its last, and its number.
        """
        spans: dict[int, _Span] = {}
        for index, row in enumerate(self._rows):
            if row.paragraph >= 0:
                first, _, _ = spans.get(row.paragraph, (index, 0, 0))
                spans[row.paragraph] = (first, index + 1, row.paragraph)
        self._spans = {
            change: sorted(span for span in spans.values() if self._can_change(span[2], change)) for change in (1, -1)
        }

    def _end_of_fullest(self, start: int) -> int:
        """The row after the fullest page that begins at `start`.

        The page has as many rows as fit with their notes, at least one. It ends before a row with `begins_page`.
        """
        end = bisect_right(self._units, self._units[start] + self._capacity, start) - 1
        if (at := bisect_right(self._begun, start)) < len(self._begun):
            end = min(end, self._begun[at])
        while end > start and self._used(start, end) > self._capacity:
            end -= 1
        return max(end, start + 1)

    def _used(self, start: int, end: int) -> int:
        """The grid lines that a page of these rows takes, with the repeated head of a table and with notes."""
        notes = self._notes[end] - self._notes[start]
        extra = math.ceil((notes + self._note_gap) / self._lead) if notes else 0
        head = sum(row.units for row in self._rows[start].head)
        return math.ceil(self._units[end] - self._units[start] + head) + extra

    def _seen_short(self, start: int, end: int, short: int) -> int:
        """How many empty lines at the foot of the page a reader would notice. They count against the page.

        The page has the rows from `start` to before `end`, and `short` empty lines at its foot. The result is 0 if the
        page has notes, because they fill the foot, or if its last row is `loose`: then the page need not be full.
        """
        full = self._notes[end] > self._notes[start] or self._rows[end - 1].loose
        return 0 if full else max(0, short)

    def _cost(self, start: int, end: int, short: int) -> float:
        rows = self._rows
        if end >= len(rows):
            return THIN_END if start and self._units[end] - self._units[start] < _MIN_LAST else 0.0
        above, below = rows[end - 1], rows[end]
        if above.loose:
            return float(short)  # with fewer pages fewer lines are empty
        cost = _cost_of_short(short)
        if short < 0:
            cost += 2000.0
        if above.keep:
            cost += STRANDED
        elif above.together:
            cost += DIVIDED
        if above.first and end - start > 1 and rows[end - 2].blank and rows[end - 2].keep:
            cost += ORPHAN  # a single line after a scene break or a heading
        if not below.blank and not below.first:
            if above.first and not above.last:
                cost += ORPHAN
            if below.last:
                cost += WIDOW
        return cost


def _cost_of_short(short: int) -> float:
    """The cost of a page that ends `short` lines above its foot, in the middle of a chapter."""
    return SHORT * min(short, 8) ** 2 + 40.0 * min(max(0, short - _MAX_SHORT), _MAX_COUNTED_LINES)


def _cuts(path: _Path) -> list[Cut]:
    cuts: list[Cut] = []
    _, page, before = path
    while page is not None:
        _, start, end, _, changes = page
        cuts.append(Cut(start, end, changes))
        _, page, before = before
    cuts.reverse()
    return cuts
