"""The typographic quality of any PDF, measured with pdftotext.

Word spaces are measured between the boxes of words on full lines, everything else from the positions of lines.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

Word = tuple[float, float, float, float, str]  # left, top, right, bottom, text
_WORD = re.compile(r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>')
_SUNK = 30.0  # points by which a chapter's first line is lower than that of other pages
_FULL_PAGE = 20  # lines
_HYPHENS = "-\u2010\u00ad"


@dataclass
class _Row:
    words: list[Word]
    full: bool  # reaches the right edge
    inset: float  # from the left edge


def measure(pdf: Path) -> dict[str, float]:
    pages = _pages(pdf)
    width = _measure(pages)
    rows = [_rows(page, width) for page in pages]
    spaces, hyphens, full = _spaces(rows)
    mean = statistics.mean(spaces)
    level, spreads = _level(pages)
    widows, orphans = _stragglers(rows)
    return {
        "pages": len(pages),
        "space cv": round(statistics.pstdev(spaces) / mean, 3),
        "loose %": round(100 * sum(space > 1.5 * mean for space in spaces) / full, 1),
        "tight %": round(100 * sum(space < 0.72 * mean for space in spaces) / full, 1),
        "hyphenated %": round(100 * hyphens / full, 1),
        "ladders": _ladders(rows),
        "widows": widows,
        "orphans": orphans,
        "level %": round(100 * level / max(1, spreads), 1),
    }


def _pages(pdf: Path) -> list[list[list[Word]]]:
    """The lines of each page. Words on the same baseline form one line."""
    out = subprocess.run(["pdftotext", "-bbox-layout", str(pdf), "-"], capture_output=True, check=True).stdout
    pages = []
    for page in out.decode("utf-8", "replace").split("<page ")[1:]:
        lines: list[list[Word]] = []
        found = [_words(line) for line in re.findall(r"<line [^>]*>(.*?)</line>", page, re.DOTALL)]
        for words in sorted(filter(None, found), key=lambda words: (round(words[0][3]), words[0][0])):
            if lines and abs(lines[-1][0][3] - words[0][3]) < 3:
                lines[-1] = sorted(lines[-1] + words)
            else:
                lines.append(words)
        pages.append(lines)
    return pages


def _words(line: str) -> list[Word]:
    return [(float(a), float(b), float(c), float(d), text) for a, b, c, d, text in _WORD.findall(line)]


def _measure(pages: list[list[list[Word]]]) -> float:
    """The most common width of lines."""
    widths = Counter(round(line[-1][2] - line[0][0]) for page in pages for line in page if len(line) > 6)
    return max(widths, key=lambda width: sum(widths[width + near] for near in (-1, 0, 1)))


def _rows(page: list[list[Word]], width: float) -> list[_Row]:
    """The lines of the text, without running head and page number."""
    lines = [line for line in page if len(line) > 1]
    if len(lines) < _FULL_PAGE:
        return []
    left = Counter(round(line[0][0]) for line in lines).most_common(1)[0][0]
    rows = [
        _Row(line, abs(line[-1][2] - left - width) < 9 and line[0][0] - left < 30, line[0][0] - left) for line in lines
    ]
    return [row for row in rows[1:] if row.full or row.inset < 30]


def _spaces(pages: list[list[_Row]]) -> tuple[list[float], int, int]:
    spaces, hyphens, full = [], 0, 0
    for row in (row for page in pages for row in page if row.full):
        full += 1
        hyphens += row.words[-1][4][-1] in _HYPHENS
        height = row.words[0][3] - row.words[0][1]
        spaces.append(
            statistics.mean(
                (after[0] - before[2]) / height for before, after in zip(row.words, row.words[1:], strict=False)
            )
        )
    typical = statistics.median(spaces)
    return [space for space in spaces if space < 4 * typical], hyphens, full


def _ladders(pages: list[list[_Row]]) -> int:
    ladders = 0
    for page in pages:
        run = 0
        for row in page:
            run = run + 1 if row.full and row.words[-1][4][-1] in _HYPHENS else 0
            ladders += run == 3
    return ladders


def _stragglers(pages: list[list[_Row]]) -> tuple[int, int]:
    """Count widows (a last line alone at the top of a page) and orphans (a first line alone at the bottom)."""
    widows = orphans = 0
    open_paragraph = False
    for page in pages:
        if not page:
            open_paragraph = False
            continue
        first, last = page[0], page[-1]
        widows += open_paragraph and not first.full and first.inset < 6
        orphans += last.full and 8 < last.inset < 30
        open_paragraph = last.full
    return widows, orphans


def _level(pages: list[list[list[Word]]]) -> tuple[int, int]:
    """The number of spreads within chapters, and of those whose two pages end on the same line.

    The last page of a chapter may end anywhere.
    """
    bodies = [_body(page) for page in pages]
    usual = statistics.median(body[0][0][1] for body in bodies if body)
    goes_on = [bool(body) and body[0][0][1] < usual + _SUNK for body in bodies]
    level = spreads = 0
    for left in range(1, len(pages) - 2, 2):
        if bodies[left] and goes_on[left + 1] and goes_on[left + 2]:
            spreads += 1
            level += abs(bodies[left][-1][0][3] - bodies[left + 1][-1][0][3]) < 1.5
    return level, spreads


def _body(page: list[list[Word]]) -> list[list[Word]]:
    """The lines without running head and page number; none if the page is not a text page."""
    lines = [line for line in page if not (len(line) == 1 and line[0][4].isdecimal())]
    return lines[1:] if len(lines) >= _FULL_PAGE else []
