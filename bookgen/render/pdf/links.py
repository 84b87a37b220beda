"""Where links, strike-through lines and emphasis dots are on a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby

from bookgen.render.characters import is_wide
from bookgen.render.fonts.style import Style
from bookgen.render.layout.bidi import Item
from bookgen.render.layout.lines import Line
from bookgen.render.layout.page import Link, Page
from bookgen.render.layout.rows import Element, TextMark
from bookgen.render.layout.word_metrics import SPACE_WIDTH


def links(page: Page) -> Iterator[Link]:
    yield from page.links
    for placed in page.placed:
        mark = placed.mark
        if isinstance(mark, TextMark) and mark.element and any(style.href for style, _ in mark.line.segments):
            yield from _addresses(mark, mark.element, placed.x + mark.x, placed.y + mark.dy)


def struck(mark: TextMark, x: float, y: float) -> Iterator[tuple[float, float, float]]:
    """The lines that strike out text in a mark. Each has the x of its left end, its y and its length."""
    yield from ((at, y + mark.size * 0.26, width) for style, at, width in _extents(mark, x) if style.strike)


def dotted(mark: TextMark, x: float, y: float) -> Iterator[tuple[str, float, float]]:
    """The dots of emphasised ideographs in a mark. Each has its shape, the x of the letter's middle and its baseline.

    Punctuation and spaces get none.
    """
    size, at = mark.size / 1000, x + mark.line.x
    for style, items in mark.line.segments:
        for item in items:
            left = at
            at += _advance(item, style, mark.line) * size
            if not style.dots or not isinstance(item, str):
                continue
            for letter, advance in style.letters(item):
                width = advance * mark.line.expansion / 100 * size
                if width and is_wide(letter) and unicodedata.category(letter)[0] not in "PZ":
                    yield style.dots, left + width / 2, y
                left += width


def _extents(mark: TextMark, x: float) -> Iterator[tuple[Style, float, float]]:
    """The stretches of a line that have one style each: the style, the x of the left edge, and the width."""
    at = x + mark.line.x
    for style, items in mark.line.segments:
        width = sum(_advance(item, style, mark.line) for item in items) * mark.size / 1000
        yield style, at, width
        at += width


def _addresses(mark: TextMark, element: Element, x: float, y: float) -> Iterator[Link]:
    for href, extents in groupby(_extents(mark, x), key=lambda extent: extent[0].href):
        if href:
            (_, left, _), *_, (_, at, width) = [*extents] * 2
            yield Link(left, y - mark.size * 0.25, at + width - left, mark.size, element, href=href)


def _advance(item: Item, style: Style, line: Line) -> float:
    if isinstance(item, str):
        return style.word(item)[0] * line.expansion / 100
    return item[0] * SPACE_WIDTH + item[1] * line.opening
