"""The order of text with both directions in one line, by the Unicode bidirectional algorithm.

It works on parts of text instead of characters: letters of one direction, the digits of a number, or one mark. Each
part is shaped separately. Explicit embeddings are ignored, since prose does not use them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from bookgen.render.fonts.style import Style
from bookgen.render.model import Spans

# A gap's width and its stretch, each as a multiple of those of a word space. The width may be negative.
Gap = tuple[float, float]
Item = str | Gap  # one piece of a line: text to show, or a gap to leave
Segments = list[tuple[Style, list[Item]]]

_MIRRORED = str.maketrans("()[]{}<>«»‹›⟨⟩≤≥", ")(][}{><»«›‹⟩⟨≥≤")
_OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩"}
_FROM_THE_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
_ATTACHED = ("NSM", "BN")
_TOGETHER = ("L", "R", "AL", "EN", "AN")
_SKIN = re.compile("[\U0001f3fb-\U0001f3ff]")
_STRONG = {"L": "L", "R": "R", "EN": "R", "AN": "R"}  # the direction a neighbouring mark takes


def has_rtl(text: str) -> bool:
    return not text.isascii() and _FROM_THE_RIGHT.search(text) is not None


def is_rtl(text: str) -> bool:
    """Whether the first letter with a direction reads from right to left."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False


def spaces(gap: Gap) -> str:
    """The spaces of a gap between words. All but the last are no-break spaces, since HTML would merge normal spaces."""
    count = round(gap[0])
    return "\u00a0" * (count - 1) + " " * (count > 0)


def reads_rtl(lines: Sequence[Spans], book: bool) -> bool:
    """Whether a text reads from right to left.

    It reads as the `book` does, unless all its letters have the other direction.
    """
    text = "".join(span.text for spans in lines for span in spans if not span.code)
    if has_rtl(text) == book:
        return book
    kinds = set(map(unicodedata.bidirectional, text))
    return "L" not in kinds


def parts(text: str) -> list[str]:
    """Divide text into letters of one direction, digits, and single marks. Combining marks stay with their letter."""
    found: list[str] = []
    kind = ""
    for character in text:
        own = unicodedata.bidirectional(character)
        if found and (own in _ATTACHED or found[-1][-1] == "\u200d" or _SKIN.match(character)):
            found[-1] += character
            continue
        if found and own == kind and own in _TOGETHER:
            found[-1] += character
        else:
            found.append(character)
        kind = own
    return found


def visual(segments: Segments, rtl: bool) -> Segments:
    """The line's pieces in visual order from left to right. `rtl`: the paragraph reads from right to left."""
    flat = [
        (part, style)
        for style, items in segments
        for item in items
        for part in (parts(item) if isinstance(item, str) and not style.is_code else (item,))
    ]
    kinds = ["WS" if not isinstance(item, str) else _kind(item, style) for item, style in flat]
    levels = _levels([item if isinstance(item, str) else "" for item, _ in flat], kinds, "R" if rtl else "L")
    out: Segments = []
    for index in _order(levels):
        item, style = flat[index]
        if levels[index] % 2 and isinstance(item, str) and not is_rtl(item):
            item = item.translate(_MIRRORED)
        if not out or out[-1][0] is not style:
            out.append((style, []))
        out[-1][1].append(item)
    return out


def _kind(part: str, style: Style) -> str:
    return "L" if style.is_code else unicodedata.bidirectional(part[0])


def _levels(texts: Sequence[str], kinds: list[str], paragraph: str) -> list[int]:
    """The embedding level of each part: odd levels read from right to left.

    `kinds`: the bidirectional class of each part, which the rules change in place. `paragraph`: "L" or "R".
    """
    _weak(kinds, paragraph)
    _brackets(texts, kinds, paragraph)
    _neutral(kinds, paragraph)
    if paragraph == "R":
        return [1 if kind == "R" else 2 for kind in kinds]
    return [{"L": 0, "R": 1}.get(kind, 2) for kind in kinds]


def _weak(kinds: list[str], paragraph: str) -> None:
    """Apply rules W1 to W7: numbers, and the marks that belong to them."""
    strong = paragraph
    for index, kind in enumerate(kinds):
        if kind in ("L", "R", "AL"):
            strong = kind
        elif kind == "EN" and strong == "AL":
            kinds[index] = "AN"
    for index in range(1, len(kinds) - 1):
        before, kind, after = kinds[index - 1 : index + 2]
        if before == after and ((kind == "CS" and before in ("EN", "AN")) or (kind == "ES" and before == "EN")):
            kinds[index] = before
    for indices in (range(1, len(kinds)), range(len(kinds) - 2, -1, -1)):
        for index in indices:
            if kinds[index] == "ET" and kinds[index - indices.step] == "EN":
                kinds[index] = "EN"
    strong = paragraph
    for index, kind in enumerate(kinds):
        if kind == "AL":
            kinds[index] = "R"
        if kinds[index] in ("L", "R"):
            strong = kinds[index]
        elif kind == "EN" and strong == "L":
            kinds[index] = "L"
        elif kind not in ("EN", "AN"):
            kinds[index] = "ON"


def _brackets(texts: Sequence[str], kinds: list[str], paragraph: str) -> None:
    """Apply rule N0: paired brackets get the same direction."""
    open_ones: list[tuple[str, int]] = []
    for index, text in enumerate(texts):
        if text in _OPENING:
            open_ones.append((_OPENING[text], index))
            continue
        while open_ones and any(closing == text for closing, _ in open_ones):
            closing, first = open_ones.pop()
            if closing == text:
                inside = {_STRONG[kind] for kind in kinds[first + 1 : index] if kind in _STRONG}
                before = next((_STRONG[kind] for kind in reversed(kinds[:first]) if kind in _STRONG), paragraph)
                if inside:
                    kinds[first] = kinds[index] = paragraph if paragraph in inside else before
                break


def _neutral(kinds: list[str], paragraph: str) -> None:
    """Apply rules N1 and N2: neutrals between parts of one direction get this direction; others get the paragraph's."""
    at = 0
    while at < len(kinds):
        end = at
        while end < len(kinds) and kinds[end] == "ON":
            end += 1
        before = _STRONG[kinds[at - 1]] if at else paragraph
        after = _STRONG[kinds[end]] if end < len(kinds) else paragraph
        kinds[at:end] = [before if before == after else paragraph] * (end - at)
        at = end + 1


def _order(levels: Sequence[int]) -> list[int]:
    """Apply rule L2: from the highest level down, reverse every stretch of at least that level."""
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        at = 0
        while at < len(order):
            end = at
            while end < len(order) and levels[order[end]] >= level:
                end += 1
            order[at:end] = order[at:end][::-1]
            at = end + 1
    return order
