"""Text of both directions in one line: what stands where, after the Unicode bidirectional algorithm.

Pieces of text take the place of characters: each has one direction and is shaped in it. Explicit
embeddings, which prose does not use, are not honoured.
"""

from __future__ import annotations

import re
import unicodedata

from bookgen.render.fonts.style import Style

# A gap is how much of a word space it takes, and how much of a word space's stretch.
Gap = tuple[float, float]
Item = str | Gap  # one piece of a line: text to show, or a gap to leave
Segments = list[tuple[Style, list[Item]]]

_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_CORE = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)


def visual(segments: Segments, rtl: bool) -> Segments:
    """The line's pieces from left to right, for a paragraph that reads in the given direction."""
    flat = [(item, style) for style, items in segments for item in items]
    levels = _levels([_direction(item) for item, _ in flat], rtl)
    ordered: list[tuple[Item, Style]] = []
    for right, first, last in _stretches(levels, rtl):
        stretch = flat[first:last]
        ordered += [(_turned(item), style) for item, style in reversed(stretch)] if right else stretch
    out: Segments = []
    for item, style in ordered:
        if not out or out[-1][0] is not style:
            out.append((style, []))
        out[-1][1].append(item)
    return out


def _direction(item: Item) -> bool | None:
    """True from the right, False from the left; None for gaps, marks and numbers, which go with what is around."""
    if not isinstance(item, str):
        return None
    if is_rtl(item):
        return True
    return False if any(unicodedata.bidirectional(character) == "L" for character in item) else None


def _levels(directions: list[bool | None], rtl: bool) -> list[bool]:
    """Neutral pieces between two of one direction are of it; others read as the paragraph does."""
    following: list[bool] = []
    after = rtl
    for direction in reversed(directions):
        after = after if direction is None else direction
        following.append(after)
    following.reverse()
    levels: list[bool] = []
    before = rtl
    for direction, after in zip(directions, following, strict=True):
        before = before if direction is None else direction
        levels.append(direction if direction is not None else before if before == after else rtl)
    return levels


def _stretches(levels: list[bool], rtl: bool) -> list[tuple[bool, int, int]]:
    """Neighbours of one direction, in the order in which they stand."""
    found: list[tuple[bool, int, int]] = []
    for index, right in enumerate(levels):
        if found and found[-1][0] == right:
            found[-1] = (right, found[-1][1], index + 1)
        else:
            found.append((right, index, index + 1))
    return found[::-1] if rtl else found


def _turned(item: Item) -> Item:
    """Marks among right-to-left text are mirrored and change sides; a number between them stays as it is."""
    if not isinstance(item, str) or is_rtl(item):
        return item
    before, core, after = _CORE.fullmatch(item).groups()  # type: ignore[union-attr]
    return f"{after[::-1].translate(_MIRRORED)}{core}{before[::-1].translate(_MIRRORED)}"


def is_rtl(text: str) -> bool:
    """Whether the first letter with a direction reads from the right."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False
