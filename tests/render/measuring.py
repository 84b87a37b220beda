"""Measurements of a finished layout."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from bookgen.render.layout.lines import Line, Tail
from bookgen.render.layout.page import Layout, Page
from bookgen.render.layout.rows import Element, TextMark
from bookgen.render.layout.word_metrics import SPACE_WIDTH
from bookgen.render.scene_breaks import SCENE_BREAK


def body(page: Page) -> list[tuple[float, TextMark]]:
    """The text of the page with its height above the foot, without running heads and page numbers."""
    return [
        (placed.y + placed.mark.dy, placed.mark)
        for placed in page.placed
        if isinstance(placed.mark, TextMark) and placed.mark.element is not None
    ]


def level_spreads(layout: Layout) -> tuple[int, int]:
    """How many facing pages end on the same line, and of how many. The last page of a chapter may end anywhere."""
    level = total = 0
    pages = layout.pages
    for left in range(1, len(pages) - 2, 2):
        verso, recto, after = pages[left : left + 3]
        if not (verso.chapter and verso.chapter == recto.chapter == after.chapter and body(verso) and body(recto)):
            continue
        total += 1
        level += math.isclose(min(y for y, _ in body(verso)), min(y for y, _ in body(recto)), abs_tol=1.0)
    return level, total


@dataclass
class Ends:
    widows: int = 0
    orphans: int = 0
    stranded_headings: int = 0
    lonely_lines: int = 0


def page_ends(layout: Layout) -> Ends:
    """Widows, orphans, headings at the end of a page, and single lines there after a scene break."""
    ends = Ends()
    lines: dict[int, list[tuple[int, TextMark]]] = {}
    for index, page in enumerate(layout.pages):
        marks = [mark for _, mark in sorted(body(page), key=lambda each: -each[0]) if _in_text(mark)]
        if page.kind == "chapter" and marks and marks[-1].element is not None and marks[-1].element.role[0] == "H":
            ends.stranded_headings += 1
        texts = [placed for placed in page.placed if isinstance(placed.mark, TextMark)]
        if breaks := [placed.y for placed in texts if placed.mark.line.text == SCENE_BREAK]:
            ends.lonely_lines += len([y for y, _ in body(page) if y < min(breaks)]) == 1
        for mark in marks:
            if mark.element is not None and mark.element.role == "P":
                lines.setdefault(id(mark.element), []).append((index, mark))
    for paragraph in lines.values():
        pages = [index for index, _ in paragraph]
        if len(paragraph) > 1 and pages[0] != pages[-1]:
            ends.orphans += pages.count(pages[0]) == 1
            ends.widows += pages.count(pages[-1]) == 1
    return ends


def _in_text(mark: TextMark) -> bool:
    return mark.element is not None and mark.element.role not in ("Note", "TH", "TD", "Lbl")


def paragraph_lines(layout: Layout) -> Iterator[list[Line]]:
    """The lines of each paragraph of the book."""
    for page in layout.pages:
        groups: dict[int, list[Line]] = {}
        for _, mark in body(page):
            element: Element | None = mark.element
            if page.kind == "chapter" and element is not None and element.role == "P":
                groups.setdefault(id(element), []).append(mark.line)
        yield from groups.values()


@dataclass(frozen=True)
class Spacing:
    variation: float  # of the word space over justified lines
    hyphenated: float  # share of lines that end with a hyphen
    ladders: int  # three and more such lines in a row


def spacing(layout: Layout) -> Spacing:
    spaces: list[float] = []
    count = hyphens = ladders = 0
    for lines in paragraph_lines(layout):
        row = 0
        for line in lines:
            count += 1
            row = row + 1 if line.tail is Tail.HYPHEN else 0
            hyphens += line.tail is Tail.HYPHEN
            ladders += row == 3
            if line.opening:
                spaces.append(SPACE_WIDTH + line.opening)
    return Spacing(statistics.pstdev(spaces) / statistics.mean(spaces), hyphens / count, ladders)


Box = tuple[float, float, float, float, str]


def boxes(page: Page) -> list[Box]:
    """The texts of a page: left, right, foot, head and content."""
    found = []
    for placed in page.placed:
        mark = placed.mark
        if isinstance(mark, TextMark):
            left, y = placed.x + mark.x + mark.line.x, placed.y + mark.dy
            found.append((left, left + drawn(mark), y - 0.15 * mark.size, y + 0.6 * mark.size, mark.line.text))
    return found


def drawn(mark: TextMark) -> float:
    """The real width of the line, whatever it declares."""
    line = mark.line
    return (
        sum(
            style.word(item)[0] * line.expansion / 100
            if isinstance(item, str)
            else item[0] * SPACE_WIDTH + item[1] * line.opening
            for style, items in line.segments
            for item in items
        )
        * mark.size
        / 1000
    )


def overlaps(page: Page) -> list[tuple[str, str]]:
    return [
        (one[4], other[4])
        for one, other in combinations(boxes(page), 2)
        if min(one[1], other[1]) - max(one[0], other[0]) > 1.5 and min(one[3], other[3]) - max(one[2], other[2]) > 1.0
    ]
