"""Tables: columns sized by their text, rows that may break across pages, and a repeated head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bookgen.render.layout.lines import Align, Shape, Tail
from bookgen.render.layout.rows import Element, Row, Rule, TextMark, notes_in
from bookgen.render.layout.setter import Setter
from bookgen.render.layout.words import WordMaker
from bookgen.render.model import Spans, Table, lines_by_hand

_ALIGN = {"left": Align.START, "right": Align.END, "center": Align.CENTER}
_GUTTER = 0.9  # ems between columns
_MAX_GUTTERS = 0.3  # of the line width, for all gutters together
_LEAST = 6.0  # points
_BETWEEN = 1 / 8  # of a grid line, between rows where some have several lines
_BELOW_HEAD = 1 / 4
_SAMPLE = 200  # rows read to choose the column widths
_MAX_UNBROKEN = 6
MAX_WHOLE_SHARE = 0.5  # of a page's lines; a table up to this height is divided only to fill a page
MIN_LINES = 3  # of a divided table, on each page
_HEAD_OF_COLUMN = "/O/Table/Scope/Column"

Notes = tuple[int, ...]


def table_rows(table: Table, setter: Setter, left: float, measure: float, element: Element) -> list[Row]:
    geometry = setter.geometry
    for size in (geometry.note_size, geometry.note_size * 0.9, max(_LEAST, geometry.note_size * 0.8)):
        gutter = min(_GUTTER * size, measure * _MAX_GUTTERS / len(table.aligns))
        room = measure - gutter * (len(table.aligns) - 1)
        widths, fits = _column_widths(table, setter.maker, size, room)
        if fits:
            break
    total = sum(widths) + gutter * (len(widths) - 1)
    start = left + (measure - total) / 2
    places = [start + sum(widths[:index]) + gutter * index for index in range(len(widths))]
    if setter.language.rtl:
        places = [2 * start + total - place - width for place, width in zip(places, widths, strict=True)]
    shapes = [Shape(width, size, align=_ALIGN[align]) for width, align in zip(widths, table.aligns, strict=True)]
    columns = list(zip(places, shapes, strict=True))
    inner = element.child("Table")
    lead = geometry.lead

    def lay(cells: Sequence[Spans], role: str) -> list[Row]:
        return _row(cells, columns, setter, inner.child("TR"), role)

    head = lay(table.head, "TH") if any(table.head) else []
    for row in head:
        row.keep = True
    if head:
        head[0].marks.append(Rule(start, total, lead * 0.78))
        head[-1].marks.append(Rule(start, total, -lead * 0.3))
    rows = [row for cells in table.rows for row in lay(cells, "TD")]
    _space(head, rows, in_sixteenths(geometry.note_lead / lead))
    # A repeated head has no structure element, so that its text is not read twice.
    repeated = tuple(
        replace(row, marks=[replace(mark, element=None) if isinstance(mark, TextMark) else mark for mark in row.marks])
        for row in head
    )
    for row in rows[1:]:
        row.head = repeated
    rows = head + rows
    if rows:
        rows[-1].marks.append(Rule(start, total, -lead * 0.3))
    for row in (*rows[len(head) : len(head) + MIN_LINES - 1], *rows[-MIN_LINES:-1]):
        row.keep = True
    for row in rows[:-1]:
        row.together = len(rows) <= geometry.lines * MAX_WHOLE_SHARE
    return rows


def _space(head: Sequence[Row], rows: Sequence[Row], within: float) -> None:
    """Set the heights of a table's rows: evenly spaced, and a whole number of grid lines in all.

    `within`: the height of the lines within a row, which are closer together than two rows are.
    """
    lines = [*head, *rows]
    between = 1.0 if all(row.first for row in rows) else 1 + _BETWEEN
    for row in lines:
        row.units = between if row.last else within
    for row in head[-1:]:
        row.units += _BELOW_HEAD
    for row in lines[-1:]:
        row.units = 1.0
    ends = [row for row in lines[:-1] if row.last]
    if ends:
        more = min(_BETWEEN, math.floor(spare(lines) / len(ends) * 16) / 16)
        for row in ends:
            row.units += more
    for row in lines[-1:]:
        row.units += spare(lines)


def spare(rows: Sequence[Row]) -> float:
    """The part of a grid line that is left below these rows."""
    height = sum(row.units for row in rows)
    return math.ceil(height) - height


def in_sixteenths(height: float) -> float:
    """Round to sixteenths, whose sums are exact."""
    return round(height * 16) / 16


def _row(
    cells: Sequence[Spans], columns: Sequence[tuple[float, Shape]], setter: Setter, element: Element, role: str
) -> list[Row]:
    """A table row as rows of the page, one per line of the tallest cell.

    `columns`: the left edge and the shape of each column.
    """
    set_cells = [
        _cell(spans, x, shape, setter, element.child(role, attributes=_HEAD_OF_COLUMN * (role == "TH")))
        for (x, shape), spans in zip(columns, cells, strict=True)
    ]
    depth = max([1, *map(len, set_cells)])
    is_whole = depth <= _MAX_UNBROKEN
    rows = [
        Row(first=index == 0, last=index == depth - 1, keep=index < depth - 1 and is_whole, off_grid=True)
        for index in range(depth)
    ]
    for set_lines in set_cells:
        sunk = (depth - len(set_lines)) * (role == "TH")  # head cells are aligned at the bottom, others at the top
        for index, (mark, notes) in enumerate(set_lines, sunk):
            rows[index].marks.append(mark)
            rows[index].notes += notes
    return rows


def _cell(spans: Spans, x: float, shape: Shape, setter: Setter, element: Element) -> list[tuple[TextMark, Notes]]:
    """The cell's lines, each with the notes it refers to."""
    found: list[tuple[TextMark, Notes]] = []
    parts = lines_by_hand(spans)
    for part in parts:
        words = setter.maker.words(part, bold=element.role == "TH")
        lines = setter.breaker.lines(words, shape)
        if lines and part is not parts[-1]:
            lines[-1].tail = Tail.SPACE
        found += [(TextMark(line, x, shape.size, element), notes_in(words, line)) for line in lines]
    return found


def _column_widths(table: Table, maker: WordMaker, size: float, room: float) -> tuple[list[float], bool]:
    """The column widths, and whether all words fit.

    Each column gets the width of its longest word, then a share of the remaining room by the amount of its text. If the
    longest words do not fit, the widest columns are made narrower.
    """
    least: list[float] = []
    most: list[float] = []
    for column in range(len(table.aligns)):
        cells = [(table.head[column], True), *((row[column], False) for row in table.rows[:_SAMPLE])]
        longest = widest = size
        for part, bold in ((part, bold) for spans, bold in cells for part in lines_by_hand(spans)):
            words = maker.words(part, bold=bold)
            widths = [token.width * size / 1000 for token in words.tokens]
            longest = max([longest, *widths])
            widest = max(widest, sum(widths) + 0.26 * size * len(widths))
        least.append(longest + 0.5)
        most.append(widest + 0.5)
    return shares(least, most, room), sum(least) <= room


def shares(least: Sequence[float], most: Sequence[float], room: float) -> list[float]:
    """Divide `room` among columns, given the least width that each needs and the greatest that it can use."""
    if sum(most) <= room:
        return list(most)
    if sum(least) > room:
        return _capped(least, room)
    spare = room - sum(least)
    wanted = sum(most) - sum(least)
    return [low + (high - low) * spare / wanted for low, high in zip(least, most, strict=True)]


def _capped(widths: Sequence[float], room: float) -> list[float]:
    """Reduce the widths to the sum `room`: widths above a common maximum are cut down to it, the others stay."""
    left, cap = room, 0.0
    for count, width in zip(range(len(widths), 0, -1), sorted(widths), strict=True):
        cap = left / count
        if width > cap:
            break
        left -= width
    return [min(width, cap) for width in widths]
