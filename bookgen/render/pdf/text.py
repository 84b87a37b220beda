"""Lines as PDF text operators.

A hyphen at a line's end is not part of the text (its ActualText is a soft hyphen), and every other line end
carries a real space: what is extracted is what was written.
"""

from __future__ import annotations

from bookgen.render.fonts.face import Face
from bookgen.render.fonts.style import Style
from bookgen.render.layout.bidi import Item
from bookgen.render.layout.lines import Line, Tail

_GLYPH = len("<0000>")
_SOFT_HYPHEN = "/Span<</ActualText<FEFF00AD>>>BDC[{}]TJ EMC"


class TextWriter:
    """`names` gives each face its resource name in the file."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def operators(self, line: Line, x: float, y: float, size: float) -> str:
        """Inside BT … ET."""
        out = [f"{line.expansion:.2f} Tz 1 0 0 1 {x + line.x:.2f} {y:.2f} Tm"]
        stretch = line.expansion / 100.0
        space = line.gap / stretch
        opening = line.opening / stretch
        for style, items in line.segments:
            out.append(self._font(style, size))
            shown = "".join(_shown(style, items, space, opening))
            if "\x00" in shown:
                shown = _lifted(shown, size * style.scale, size * style.rise)
            out.append(f"[{shown}]TJ")
            if style.rise:
                out.append("0 Ts")
        style = line.segments[-1][0]
        if line.tail is Tail.HYPHEN:
            out.append(_SOFT_HYPHEN.format(style.word(style.hyphen_text)[1]))
        elif line.tail is Tail.SPACE:
            out.append(f"[{style.space[1]}]TJ")
        return "\n".join(out)

    def _font(self, style: Style, size: float) -> str:
        font = f"{self._names[style.face.key]} {size * style.scale:.2f} Tf"
        return f"{font} {size * style.rise:.2f} Ts" if style.rise else font


def _shown(style: Style, items: list[Item], space: float, opening: float) -> list[str]:
    out: list[str] = []
    words = style.words
    glyph = style.space[1][:_GLYPH]
    advance = _space_advance(style.face, glyph)
    for item in items:
        if isinstance(item, str):
            out.append((words.get(item) or style.word(item))[1])
            continue
        room, stretch = item
        wanted = (space * room + opening * stretch) / style.scale
        if room:
            adjust = round(advance - wanted)
            out.append(f"{glyph} {adjust}" if adjust else glyph)
        elif wanted >= 0.5 or wanted <= -0.5:
            out.append(f" {round(-wanted)}")
    return out


def _lifted(shown: str, size: float, rise: float) -> str:
    """Marks of scripts that stack them: the rise changes within the word."""
    parts = shown.split("\x00")
    for index in range(1, len(parts), 2):
        parts[index] = f"]TJ {rise + int(parts[index]) * size / 1000:.2f} Ts ["
    return "".join(parts)


def _space_advance(face: Face, fragment: str) -> float:
    return face.advance(int(fragment[1:5], 16))
