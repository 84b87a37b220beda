"""A text style: a face at a scale, with a rise and OpenType features. Each word is shaped once."""

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import uharfbuzz as hb

from bookgen.render.fonts.face import Face
from bookgen.render.locales import language as locale

# In the PDF text of a word, surrounds the height to which a glyph is lifted, per mille of the size. The size is known
# only when the text is drawn; then these marks are replaced, so they never get into a file.
LIFT_MARK = "\ue000"

# Scripts whose glyphs are not in the order of their letters.
_REORDERED = re.compile("[\u0900-\u0dff\u1780-\u17ff\u1000-\u109f]")

# In Chinese and Japanese a dash is as wide as an ideograph, and two of them join.
_DASHES = re.compile("[—―]+")

# Marks that fill the em, with their ink in one half of it. Where two of them meet, the half em between them is left
# out, and so is the half em between the space U+3000 and an opening mark. Which marks are drawn so depends on the face:
# 。 is in the middle in Taiwan, and ： in Japan.
_OPENING = "「『（〈《【〔［｛〖〘“‘"
_CLOSING = "」』）〉》】〕］｝〗〙”’、。，．：；！？"
_PAIR = re.compile(
    f"(?<=[{_CLOSING}])(?=[{_CLOSING}{_OPENING}])|(?<=[{_OPENING}])(?=[{_OPENING}])|(?<=\u3000)(?=[{_OPENING}])"
)
_EM, _HALF = 950.0, 500.0  # per mille; some faces are slightly narrower than the em

Shaped = tuple[float, str]


@dataclass(eq=False)
class Style:
    """A text style. `words` caches, for each word, its width per mille of the nominal size and its PDF text fragment.

    `measuring`: only widths are needed.
    """

    face: Face
    scale: float
    rise: float
    features: dict[str, bool]
    tracking: float
    css: str
    language: str
    measuring: bool
    href: str = ""
    strike: bool = False
    dots: str = ""  # the CSS shape of dots at each ideograph, which replace italics; empty: none
    words: dict[str, Shaped] = field(default_factory=dict)
    _halves: dict[str, bool] = field(default_factory=dict)
    _variants: dict[tuple[str, bool, str], Style] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ideographic = locale(self.language).ideographic
        self.space = self.word(" ")
        self.space_number = self.face.number(self.face.hb_font.get_nominal_glyph(0x20) or 0, " ")
        self.hyphen_text = "‐" if 0x2010 in self.face.covered else "-"

    @property
    def is_code(self) -> bool:
        return "m" in self.css.split()

    def variant(self, *, href: str = "", strike: bool = False, dots: str = "") -> Style:
        """The same style as a link, struck through or with dots. It shares the cache of shaped words."""
        twin = self._variants.get((href, strike, dots))
        if twin is None:
            twin = self._variants[href, strike, dots] = copy.copy(self)
            twin.href, twin.strike, twin.dots = href, strike, dots
        return twin

    def word(self, text: str) -> Shaped:
        known = self.words.get(text)
        if known is None:
            known = self.words[text] = self._shape(text)
        return known

    def glyphs(self, text: str) -> list[tuple[int, float, float]]:
        """The glyphs of a word, each with its x and y from the word's start, per mille of the nominal size."""
        buffer = self._buffer(text)
        factor = self.face.per_mille * self.scale
        found: list[tuple[int, float, float]] = []
        x = 0.0
        advances = self._advances(text, buffer)
        for info, position, advance in zip(buffer.glyph_infos, buffer.glyph_positions, advances, strict=True):
            found.append((info.codepoint, x + position.x_offset * factor, position.y_offset * factor))
            x += advance * self.scale
        return found

    def letters(self, text: str) -> Iterator[tuple[str, float]]:
        """The letters of a word with their advances, per mille of the nominal size. Marks count as part of a letter."""
        buffer = self._buffer(text)
        for info, advance in zip(buffer.glyph_infos, self._advances(text, buffer), strict=True):
            yield text[info.cluster], advance * self.scale

    def is_half(self, mark: str) -> bool:
        """Whether the font draws this opening or closing mark a full em wide, with one half of the em empty."""
        known = self._halves.get(mark)
        if known is None:
            known = self._halves[mark] = self._measure_half(mark)
        return known

    def _measure_half(self, mark: str) -> bool:
        buffer, factor = self._buffer(mark), self.face.per_mille
        extents = self.face.hb_font.get_glyph_extents(buffer.glyph_infos[0].codepoint)
        if extents is None or buffer.glyph_positions[0].x_advance * factor < _EM:
            return False
        start, end = extents.x_bearing * factor, (extents.x_bearing + extents.width) * factor
        return bool(start >= _HALF if mark in _OPENING else end <= _HALF)

    def _advances(self, text: str, buffer: hb.Buffer) -> list[float]:
        """The advance of each glyph of a word, per mille of the style's own size."""
        factor, tracking = self.face.per_mille, self.tracking
        advances = [position.x_advance * factor + tracking for position in buffer.glyph_positions]
        pairs = [] if text.isascii() else [match.start() - 1 for match in _PAIR.finditer(text)]
        if pairs := [at for at in pairs if self.is_half(text[at]) and self.is_half(text[at + 1])]:
            for index, info in enumerate(buffer.glyph_infos):
                advances[index] -= _HALF * (info.cluster in pairs)
        return advances

    def _buffer(self, text: str) -> hb.Buffer:
        """The word as HarfBuzz shapes it: glyphs with their positions."""
        buffer = hb.Buffer()
        buffer.add_str(text)
        buffer.guess_segment_properties()
        if buffer.direction == "rtl" and unicodedata.bidirectional(text[0]) == "AN":
            buffer.direction = "ltr"  # digits of a right-to-left script
        if buffer.direction == "rtl":
            # Otherwise joined letters would form one cluster, and be copied from the PDF as one.
            buffer.cluster_level = hb.BufferClusterLevel.MONOTONE_CHARACTERS
        if self.language:
            buffer.language = self.language
        hb.shape(self.face.hb_font, buffer, self._features(text))
        return buffer

    def _features(self, text: str) -> dict[str, Any]:
        """The OpenType features for a word, each for the whole word or for the ranges of letters that it applies to."""
        if text.isascii() or not self._ideographic or not (dashes := list(_DASHES.finditer(text))):
            return self.features
        return {**self.features, "fwid": [(*each.span(), True) for each in dashes]}

    def _shape(self, text: str) -> Shaped:
        buffer = self._buffer(text)
        advances = self._advances(text, buffer)
        if self.measuring:
            return sum(advances) * self.scale, ""
        numbers = self._numbers(text, [(info.codepoint, info.cluster) for info in buffer.glyph_infos])
        width, fragment = self._fragment(numbers, buffer.glyph_positions, advances)
        if not text.isascii() and (_REORDERED.search(text) or self._has_other_text(numbers, text)):
            fragment = _with_actual_text(text, fragment)
        return width, fragment

    def _has_other_text(self, numbers: list[int], text: str) -> bool:
        """Whether text copied from these glyphs would not be `text`: a glyph already stands for another letter."""
        face = self.face
        return face.has_outlines_in_cff and "".join(face.text_of[number] for number in numbers) != text

    def _numbers(self, text: str, glyphs: list[tuple[int, int]]) -> list[int]:
        """The numbers by which a PDF refers to a word's glyphs, one for each glyph.

        `glyphs`: pairs of a glyph and the place in `text` where its cluster begins. When text is copied, the first
        glyph of a cluster gives the cluster's whole text, and the others give nothing.
        """
        number = self.face.number
        if [cluster for _, cluster in glyphs] == list(range(len(text))):
            return [number(glyph, letter) for (glyph, _), letter in zip(glyphs, text, strict=True)]
        starts = sorted({cluster for _, cluster in glyphs})
        ends = dict(zip(starts, [*starts[1:], len(text)], strict=True))
        seen: set[int] = set()
        numbers = []
        for glyph, cluster in glyphs:
            numbers.append(number(glyph, "" if cluster in seen else text[cluster : ends[cluster]]))
            seen.add(cluster)
        return numbers

    def _fragment(self, numbers: list[int], positions: Sequence[Any], advances: list[float]) -> Shaped:
        face = self.face
        factor, own, code = face.per_mille, face.advance, face.code
        out: list[str] = []
        run = ""
        width = 0.0
        for number, position, advance in zip(numbers, positions, advances, strict=True):
            offset, lift = position.x_offset * factor, position.y_offset * factor
            width += advance
            if offset or lift:
                out.append(f"({run})" * bool(run) + _moved(offset, lift) + f"({code(number)})" + _lift(0) * bool(lift))
                run = ""
            else:
                run += code(number)
            adjust = own(number) - advance + offset
            if adjust >= 0.5 or adjust <= -0.5:
                out.append(f"({run}) {round(adjust)}" if run else f" {round(adjust)}")
                run = ""
        if run:
            out.append(f"({run})")
        return width * self.scale, "".join(out)


def meet_halfway(before: str, after: str) -> bool:
    """Whether `before` ends and `after` begins with punctuation marks that may leave an empty half em between them.

    Whether the half em is really empty depends on the fonts.
    """
    return _PAIR.search(before[-1:] + after[:1]) is not None


def _moved(offset: float, lift: float) -> str:
    return _lift(round(lift)) * bool(lift) + f" {round(-offset)}" * bool(offset)


def _lift(height: int) -> str:
    return f"{LIFT_MARK}{height}{LIFT_MARK}"


def _with_actual_text(text: str, fragment: str) -> str:
    """The fragment with `text` attached, so that copying from the PDF gives `text`, whatever the glyphs represent.

    The result is used inside a PDF show-text array.
    """
    meant = text.encode("utf-16-be").hex().upper()
    return f"]TJ /Span<</ActualText<FEFF{meant}>>>BDC [{fragment}]TJ EMC ["
