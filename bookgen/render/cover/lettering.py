"""Sets a cover's text in a display face, as large as its place allows, and turns it into outlines."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.render.characters import one_line
from bookgen.render.cover.breaking import Unit, Units, break_lines, spaced
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.faces import DisplayFace
from bookgen.render.fonts.face import Face
from bookgen.render.fonts.style import Style
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.bidi import Item, Segments, is_rtl, visual

_GREEK = re.compile("[\u0370-\u03ff][\u0300-\u036f]+")
_AIR = 70.0  # the smallest distance between the ink of two lines, per mille of the size
_BY_SENSE, _EVEN = 100.0, 2000.0  # the cost of uneven lines; the second is tried if letters would be too small
_FEWER = 1.12  # one more line is only used if it makes the letters larger by this factor,
_BREAK_COST_WEIGHT = 0.0055  # plus this for each point that its worst break costs more

_Glyph = tuple[Face, int, float, float, float]  # face, glyph, x and y per mille of the size, and scale


@dataclass(frozen=True, slots=True)
class GlyphOutline:
    """A typeset line: its glyphs and the bounding box of their ink, in thousandths of the font size. y points up."""

    glyphs: tuple[_Glyph, ...]
    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class SetText:
    """Typeset lines at a size in pixels. `pitch`: pixels from baseline to baseline.

    `capital`: the height of the capitals in pixels, or of the letters if the script has no capitals.
    """

    lines: tuple[GlyphOutline, ...]
    size: float
    pitch: float
    capital: float

    @property
    def width(self) -> float:
        return max(line.right - line.left for line in self.lines) * self.size / 1000

    @property
    def height(self) -> float:
        """The height from the top of the first line's ink to the bottom of the last line's."""
        return (self.lines[0].top - self.lines[-1].bottom) * self.size / 1000 + self.pitch * (len(self.lines) - 1)

    @property
    def missing(self) -> int:
        """The number of letters that no font has."""
        return sum(glyph == 0 for line in self.lines for _, glyph, *_ in line.glyphs)

    def placed(self, x: float, top: float, align: float) -> tuple[str, Box]:
        """The text as SVG path data, and the box of its ink.

        `align`: lines start at `x` with 0, are centred on it with 0.5, and end at it with 1.
        """
        scale = self.size / 1000
        baseline = top + self.lines[0].top * scale
        pen = _Pen()
        left, right = math.inf, -math.inf
        for number, line in enumerate(self.lines):
            wide = (line.right - line.left) * scale
            start = x - wide * align
            for face, glyph, glyph_x, glyph_y, own in line.glyphs:
                pen.move(
                    start + (glyph_x - line.left) * scale, baseline - glyph_y * scale, scale * own * face.per_mille
                )
                face.hb_font.draw_glyph_with_pen(glyph, pen)
            left, right = min(left, start), max(right, start + wide)
            if number + 1 < len(self.lines):
                baseline += self.pitch
        return pen.path, Box(left, top, right, baseline - self.lines[-1].bottom * scale)


@dataclass(frozen=True, slots=True)
class _Block:
    """Typeset lines. Lengths are per mille of the type size, chosen later."""

    lines: tuple[GlyphOutline, ...]
    pitch: float
    capital: float
    worst_break_cost: float

    def fitted(self, measure: float, height: float, largest: float) -> SetText:
        ink = self.lines[0].top - self.lines[-1].bottom + self.pitch * (len(self.lines) - 1)
        widest = max(line.right - line.left for line in self.lines)
        size = min(measure / widest * 1000, height / ink * 1000, largest)
        return SetText(self.lines, size, self.pitch * size / 1000, self.capital * size / 1000)


class Typesetter:
    """Sets the texts of one cover in one face, shaping every script as on the book's pages."""

    def __init__(self, face: DisplayFace, tag: str) -> None:
        self.face = face
        self._tag = tag
        self._typeface = Typeface("serif", tag, body=face.source)
        self._kind: dict[str, Any] = {"bold": face.bold, "italic": face.italic, "display": True}
        self._units: dict[tuple[str, int], list[Unit]] = {}
        self._blocks: dict[tuple[str, int, int, float], _Block | None] = {}

    def fitted(self, text: str, measure: float, height: float, largest: float, least: float) -> SetText:
        """Set the text as large as the line width `measure`, the height and `largest` allow, all in pixels.

        A word wider than `measure` at the size `least` is divided.
        """
        text = self._cased(one_line(text))
        units = self._units_of(text, measure / least * 1000)
        best: SetText | None = None
        cost = 0.0
        for evenness in (_BY_SENSE, _EVEN):
            for count in self._counts(units, measure, height, largest):
                block = self._block(text, units, count, evenness)
                if block is None:
                    continue
                found = block.fitted(measure, height, largest)
                dearer = max(0.0, block.worst_break_cost - cost)
                worth = _FEWER + _BREAK_COST_WEIGHT * dearer if best and best.size >= least else 1.0
                if best is None or found.size > best.size * worth:
                    best, cost = found, block.worst_break_cost
            if best is not None and best.size >= least:
                break
        if best is None:
            raise ValueError(f"no text to set: {text!r}")
        return best

    def _units_of(self, text: str, widest: float) -> list[Unit]:
        key = text, round(widest)
        if key not in self._units:
            self._units[key] = Units(self._typeface, self._tag, self.face, self._kind).divide(text, widest)
        return self._units[key]

    def _counts(self, units: Sequence[Unit], measure: float, height: float, largest: float) -> range:
        """Estimate how many lines the text will need. Returns the counts to try, in ascending order."""
        total = sum(unit.width + unit.gap for unit in units) / 1000
        full = math.ceil(total * largest / measure)
        even = round(math.sqrt(height * total / (measure * self.face.lead)))
        likely = max(1, min(full, even, len(units)))
        return range(max(1, likely - 2), min(likely + 2, len(units)) + 1)

    def _block(self, text: str, units: Sequence[Unit], count: int, evenness: float) -> _Block | None:
        key = text, len(units), count, evenness
        if key not in self._blocks:
            lines = break_lines(units, count, evenness)
            self._blocks[key] = self._set(text, lines) if lines else None
        return self._blocks[key]

    def _set(self, text: str, lines: Sequence[Sequence[Unit]]) -> _Block:
        rtl = is_rtl(text)
        outlines = tuple(self._outline(line, rtl) for line in lines)
        needed = [below.top - above.bottom + _AIR for above, below in itertools.pairwise(outlines)]
        worst_break_cost = max([0.0, *(line[-1].cost for line in lines[:-1])])
        return _Block(outlines, max([self.face.lead * 1000, *needed]), self._capital(text, outlines), worst_break_cost)

    def _outline(self, line: Sequence[Unit], rtl: bool) -> GlyphOutline:
        glyphs: list[_Glyph] = []
        left = bottom = math.inf
        right = top = -math.inf
        x = 0.0
        for style, items in visual(_segments(line), rtl):
            for item in items:
                if not isinstance(item, str):
                    x += item[0]
                    continue
                tracking = self.face.tracking if spaced(item) else 0.0
                shaped = style.glyphs(item)
                for number, (glyph, glyph_x, glyph_y) in enumerate(shaped):
                    place = x + glyph_x + tracking * number
                    glyphs.append((style.face, glyph, place, glyph_y, style.scale))
                    extents = style.face.hb_font.get_glyph_extents(glyph)
                    if extents is None or not extents.width:
                        continue
                    factor = style.face.per_mille * style.scale
                    left = min(left, place + extents.x_bearing * factor)
                    right = max(right, place + (extents.x_bearing + extents.width) * factor)
                    top = max(top, glyph_y + extents.y_bearing * factor)
                    bottom = min(bottom, glyph_y + (extents.y_bearing + extents.height) * factor)
                x += style.word(item)[0] + tracking * len(shaped)
        if left == math.inf:  # nothing but spaces and marks without ink
            left = right = top = bottom = 0.0
        return GlyphOutline(tuple(glyphs), left, max(right, left + 1.0), max(top, bottom + 1.0), bottom)

    def _capital(self, text: str, lines: Sequence[GlyphOutline]) -> float:
        """The height of the font's capital letters, per mille of the font size.

        In scripts other than Latin, Greek and Cyrillic, it is the height of the tallest character in `lines`.
        """
        if spaced(text):
            return self._typeface.style(**self._kind).face.cap_height * 1000
        return max(line.top for line in lines)

    def _cased(self, text: str) -> str:
        """The text in capitals if the face is meant for capitals and the script has them; otherwise unchanged."""
        if not self.face.capitals or not spaced(text):
            return text
        match self._tag.split("-")[0].lower():
            case "tr" | "az":
                return text.replace("i", "İ").upper()
            case "el":
                return unicodedata.normalize("NFC", _GREEK.sub(_bare, unicodedata.normalize("NFD", text.upper())))
            case "de":
                return text.replace("ß", "ẞ").upper()
        return text.upper()


def _bare(letter: re.Match[str]) -> str:
    """A Greek capital without accents and breathings. A diaeresis stays, since it separates two vowels."""
    return letter[0][0] + "\u0308" * ("\u0308" in letter[0])


def _segments(line: Sequence[Unit]) -> Segments:
    """The line's text grouped by style, with gaps per mille of the size."""
    segments: list[tuple[Style, list[Item]]] = []
    for number, unit in enumerate(line):
        last = number + 1 == len(line)
        for text, style in unit.pieces + unit.hyphen * last:
            if not segments or segments[-1][0] is not style:
                segments.append((style, []))
            segments[-1][1].append(text)
        if unit.gap and not last:
            segments[-1][1].append((unit.gap, 0.0))
    return segments


class _Pen:
    """A fontTools-style pen that collects glyph outlines as SVG path data."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._x = self._y = self._factor = 0.0

    @property
    def path(self) -> str:
        return "".join(self._out)

    def move(self, x: float, y: float, factor: float) -> None:
        """Set the origin of the next glyph, and the pixels per font unit."""
        self._x, self._y, self._factor = x, y, factor

    def _point(self, point: Any) -> str:
        return f"{self._x + point[0] * self._factor:.1f} {self._y - point[1] * self._factor:.1f}"

    def moveTo(self, point: Any) -> None:
        self._out.append(f"M{self._point(point)}")

    def lineTo(self, point: Any) -> None:
        self._out.append(f"L{self._point(point)}")

    def qCurveTo(self, *points: Any) -> None:
        self._out.append("Q" + " ".join(map(self._point, points)))

    def curveTo(self, *points: Any) -> None:
        self._out.append("C" + " ".join(map(self._point, points)))

    def closePath(self) -> None:
        self._out.append("Z")
