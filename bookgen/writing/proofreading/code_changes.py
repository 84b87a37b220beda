"""Changes of code that an author may make, and a proofreader may not: in one fenced block, or between backticks."""

from __future__ import annotations

import re
from dataclasses import replace

from bookgen.writing.blocks import Fence, fences
from bookgen.writing.proofreading.structure import keeps_structure

_LIST_MARK = re.compile(r"[^ \t>]")


def may_change(content: str, start: int, end: int, replacement: str) -> bool:
    """Whether an author may replace `content[start:end]`: words, a part of a line of code, or whole lines of it."""
    code = fence_around(content, start, end)
    if code is None:
        return keeps_structure(content, start, end, replacement, inline_code=True)
    return _keeps_lines(content, start, end, replacement, code) and _keeps_fences(content, start, end, replacement)


def fence_around(content: str, start: int, end: int) -> Fence | None:
    """The fenced block whose code contains `content[start:end]`; None if there is none."""
    for fence in fences(content):
        if fence.is_closed and fence.start < start and end <= fence.end:
            first, last = content.index("\n", fence.start) + 1, content.rindex("\n", fence.start, fence.end) + 1
            return fence if first <= start and end <= last else None
    return None


def whole_lines(content: str, start: int, end: int) -> tuple[int, int] | None:
    """The start and the end of the lines that `content[start:end]` fills; None if a line has other text too.

    The end is after the line break of the last line.
    """
    first = content.rfind("\n", 0, start) + 1
    last = end if content[start:end].endswith("\n") else content.find("\n", end) + 1
    return None if content[first:start].strip() or content[end:last].strip() else (first, last)


def _keeps_lines(content: str, start: int, end: int, replacement: str, code: Fence) -> bool:
    """Whether a change of several lines replaces whole lines by lines that are indented like their block."""
    passage = content[start:end]
    if "\n" not in passage and "\n" not in replacement:
        return True
    if passage.endswith("\n") and replacement and not replacement.endswith("\n"):
        return False
    margin = _LIST_MARK.sub(" ", code.indent)
    lines = (content[content.rfind("\n", 0, start) + 1 : start] + replacement).split("\n")
    return whole_lines(content, start, end) is not None and all(
        line.startswith(margin) or line.rstrip() == margin.rstrip() for line in lines
    )


def _keeps_fences(content: str, start: int, end: int, replacement: str) -> bool:
    """Whether all fenced blocks are still there after the change, and no others."""
    growth = len(replacement) - (end - start)
    expected = tuple(
        replace(each, start=each.start + growth * (each.start >= end), end=each.end + growth * (each.end > end))
        for each in fences(content)
    )
    return fences(content[:start] + replacement + content[end:]) == expected
