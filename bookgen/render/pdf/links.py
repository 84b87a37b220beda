"""Links: from the contents to the chapters, from the text to addresses."""

from __future__ import annotations

from collections.abc import Iterator

from bookgen.render.fonts.style import Style
from bookgen.render.layout.bidi import Item
from bookgen.render.layout.lines import Line
from bookgen.render.layout.page import Link, Page
from bookgen.render.layout.rows import Text


def links(page: Page) -> Iterator[Link]:
    yield from page.links
    for placed in page.placed:
        mark = placed.mark
        if isinstance(mark, Text) and any(style.href for style, _ in mark.line.segments):
            yield from _addresses(mark, placed.x + mark.x, placed.y + mark.dy)


def _addresses(mark: Text, x: float, y: float) -> Iterator[Link]:
    line, size = mark.line, mark.size
    at = x + line.x
    for style, items in line.segments:
        width = sum(_advance(item, style, line) for item in items) * size / 1000
        if style.href:
            yield Link(at, y - size * 0.25, width, size, href=style.href)
        at += width


def _advance(item: Item, style: Style, line: Line) -> float:
    if isinstance(item, str):
        return style.word(item)[0] * line.expansion / 100
    return item[0] * line.gap + item[1] * line.opening
