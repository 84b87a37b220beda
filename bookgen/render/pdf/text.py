"""Converts lines to PDF text operators.

Extracted text equals the written text: a hyphen at a line's end has a soft hyphen as its ActualText, and other line
ends have a real space.
"""

from __future__ import annotations

from collections.abc import Callable

from bookgen.render.fonts.style import LIFT_MARK, Style
from bookgen.render.layout.bidi import Item
from bookgen.render.layout.lines import Line, Tail
from bookgen.render.layout.word_metrics import SPACE, SPACE_WIDTH

_SOFT_HYPHEN = "/Span<</ActualText<FEFF00AD>>>BDC[{}]TJ EMC"


class TextWriter:
    """Writes lines as operators, omitting settings that have not changed. `names`: the resource name of each face."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._expansion = self._font = ""

    def restart(self) -> None:
        """Forget the current settings, as on a new page."""
        self._expansion = self._font = ""

    def operators(self, line: Line, x: float, y: float, size: float, enter: Callable[[str], str] | None = None) -> str:
        """The operators of a line, for use inside BT … ET.

        `enter`: called with a URL, it returns the operators that begin a link; called with "", those that end the link.
        """
        out = []
        href = ""
        expansion = f"{line.expansion:.2f} Tz"
        if expansion != self._expansion:
            self._expansion = expansion
            out.append(expansion)
        out.append(f"1 0 0 1 {x + line.x:.2f} {y:.2f} Tm")
        stretch = line.expansion / 100.0
        space = SPACE_WIDTH / stretch
        opening = line.opening / stretch
        for style, items in line.segments:
            if enter and style.href != href:
                href = style.href
                out.append(enter(href))
            font = f"{self._names[style.face.key]} {size * style.scale:.2f} Tf"
            if font != self._font:
                self._font = font
                out.append(font)
            if style.rise:
                out.append(f"{size * style.rise:.2f} Ts")
            shown = _shown(style, items, space, opening)
            if LIFT_MARK in shown:
                shown = _lifted(shown, size * style.scale, size * style.rise)
            out.append(f"[{shown}]TJ")
            if style.rise:
                out.append("0 Ts")
        style = line.segments[-1][0]
        if line.tail is Tail.HYPHEN:
            out.append(_SOFT_HYPHEN.format(style.word(style.hyphen_text)[1]))
        elif line.tail is Tail.SPACE:
            out.append(f"[{style.space[1]}]TJ")
        if enter and href:
            out.append(enter(""))
        return "\n".join(out)


def _shown(style: Style, items: list[Item], space: float, opening: float) -> str:
    """The words and gaps of one style as the content of a PDF show-text array.

    `space`: the width of a word space. `opening`: how much justification widens each word space. Both are per mille of
    the type size.
    """
    glyph, advance = style.face.code(style.space_number), style.face.advance(style.space_number)
    spaces = items[1::2]
    if spaces.count(SPACE) == len(spaces):
        try:
            shown = [style.words[text][1] for text in items[::2]]  # type: ignore[index]
        except KeyError:
            pass  # a divided word, or two gaps in a row
        else:
            between = _gap(glyph, advance - (space + opening) / style.scale)
            return (between.join(shown) + between * (len(spaces) == len(shown))).replace(")(", "")
    out: list[str] = []
    for item in items:
        if isinstance(item, str):
            out.append(style.word(item)[1])
            continue
        room, stretch = item
        wanted, count = (space * room + opening * stretch) / style.scale, max(0, round(room))
        out.append(_gap(glyph * count, advance * count - wanted))
    return "".join(out).replace(")(", "")


def _gap(glyph: str, adjust: float) -> str:
    return f"({glyph})" * bool(glyph) + f" {round(adjust)}" * bool(round(adjust))


def _lifted(shown: str, size: float, rise: float) -> str:
    """Replace the heights between LIFT_MARKs in the array `shown` with operators that change the text rise.

    Stacked accents need this, since they are higher than the rest of their word. `rise`: the rise of the rest, in
    points.
    """
    parts = shown.split(LIFT_MARK)
    for index in range(1, len(parts), 2):
        parts[index] = f"]TJ {rise + int(parts[index]) * size / 1000:.2f} Ts ["
    return "".join(parts)
