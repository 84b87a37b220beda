"""Sets code line by line as it was typed: in smaller type if lines are long, and wrapped if they are still too long."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bookgen.render import model
from bookgen.render.layout.lines import Align, Shape, Tail
from bookgen.render.layout.rows import Element, Fill, Row, text_rows
from bookgen.render.layout.setter import Setter
from bookgen.render.layout.tables import in_sixteenths, spare
from bookgen.render.layout.words import Words
from bookgen.render.model import Block, Span

_SIZES = (1.0, 0.94, 0.88, 0.82)  # of the text's size
_SMALLEST = 0.76  # for code that would be wrapped otherwise; it has no indent either
_MAX_COLUMNS = 80  # longer lines do not make the type smaller
_KEPT_LINES = 12  # code of up to this many lines is never divided
_MAX_WHOLE_SHARE = 0.5  # of a page's lines; code up to this height is divided only to fill a page
_MIN_LINES = 3  # of divided code, on each page
_HANG = 2.0  # ems from a line's own indent to the rest of that line, if it is wrapped
_MARK = 0.45  # ems: the size of the mark before that rest
_STROKE = 0.5  # points


@dataclass(frozen=True, slots=True)
class CodeStyle:
    """How the code of a chapter is set: its type size and its indent, in points."""

    size: float
    indent: float


def code_style(blocks: Sequence[Block], setter: Setter, measure: float, indent: float) -> CodeStyle:
    """The style for the code of a chapter: the largest type in which all lines fit into `measure` points.

    The code has the indent if its lines fit then. Lines of more than 80 columns are ignored. If the remaining lines do
    not fit at any size, the smallest size is used.
    """
    widths = [_width(_words(line, setter)) for lines in _codes(blocks) for line in lines if len(line) <= _MAX_COLUMNS]
    widest = max(widths, default=0.0)
    sizes = [setter.geometry.size * share for share in _SIZES]
    styles = [*(CodeStyle(size, indent) for size in sizes), CodeStyle(sizes[-1], 0.0)]
    smallest = CodeStyle(setter.geometry.size * _SMALLEST, 0.0)
    return next((each for each in styles if each.indent + widest * each.size / 1000 <= measure), smallest)


def code_rows(
    lines: Sequence[str], setter: Setter, left: float, measure: float, size: float, element: Element, block: int
) -> list[Row]:
    """The rows of a block of code, `measure` points wide from `left`. `size`: the type size in points."""
    rows: list[Row] = []
    for text in lines:
        words = _words(text, setter)
        indent = (len(text) - len(text.lstrip(" "))) * _width(_words("x", setter)) * size / 1000
        hang = min(indent, measure / 3) + _HANG * size
        shape = Shape(measure - hang, size, -hang, Align.START, hyphenated=False)
        set_lines = setter.breaker.lines(words, shape)
        if set_lines:
            set_lines[-1].tail = Tail.SPACE
        found = text_rows(set_lines, words, left + hang, size, element, block=block) or [Row(block=block)]
        for row in found[1:]:
            row.marks += _wrap_mark(left + hang, size)
        rows += found
    _space(rows, size / setter.geometry.size)
    kept = rows[:-1] if len(rows) <= _KEPT_LINES else (*rows[: _MIN_LINES - 1], *rows[-_MIN_LINES:-1])
    for row in kept:
        row.keep = True
    for row in rows[:-1]:
        row.together = len(rows) <= setter.geometry.lines * _MAX_WHOLE_SHARE
    return rows


def _space(rows: Sequence[Row], share: float) -> None:
    """Set the heights of the rows in proportion to their type size, and fill the last grid line.

    `share`: the type size of the code as a share of the text's.
    """
    for row in rows:
        row.units, row.off_grid = in_sixteenths(share), True
    more = math.floor(spare(rows) / len(rows) * 16) / 16
    for row in rows:
        row.units += more
    rows[-1].units += spare(rows)


def _codes(blocks: Sequence[Block]) -> Iterator[tuple[str, ...]]:
    """The lines of each block of code, also in quotations and lists."""
    for block in blocks:
        match block:
            case model.Code(lines):
                yield lines
            case model.Quote(inner):
                yield from _codes(inner)
            case model.ItemList(items):
                for item in items:
                    yield from _codes(item)


def _words(text: str, setter: Setter) -> Words:
    words = setter.maker.words((Span(text, code=True),))
    words.rtl = False  # code reads from left to right in every language
    return words


def _width(words: Words) -> float:
    """The width of one line, per mille of the type size."""
    return sum(token.advance for token in words.tokens[:-1]) + sum(token.end for token in words.tokens[-1:])


def _wrap_mark(x: float, size: float) -> list[Fill]:
    """A small hook before the rest of a wrapped line. It is drawn, so it is not copied with the code."""
    mark = _MARK * size
    start, foot = x - 1.6 * mark, 0.18 * size
    return [
        Fill(start, foot, _STROKE, mark, (0, 0, 0)),
        Fill(start, foot, mark, _STROKE, (0, 0, 0)),
    ]
