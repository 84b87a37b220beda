"""A way of setting text: a face at a scale, raised or not, with OpenType features; words shaped once."""

from __future__ import annotations

import re
from collections.abc import Mapping

import uharfbuzz as hb

from bookgen.render.fonts.face import Face

_FEATURES: Mapping[str, bool] = {"kern": True, "liga": True}

# Where a glyph leaves the baseline, per mille of the size, which is known only when the text is drawn.
LIFT = "\x00{}\x00"

# Scripts whose glyphs do not stand in the order of their letters.
_REORDERED = re.compile("[\u0900-\u0dff\u1780-\u17ff\u1000-\u109f]")

Shaped = tuple[float, str]


class Style:
    """`words` keeps (width per mille of the nominal size, PDF show-text fragment) for every word seen."""

    def __init__(
        self,
        face: Face,
        *,
        scale: float = 1.0,
        rise: float = 0.0,
        features: Mapping[str, bool] | None = None,
        tracking: float = 0.0,
        css: str = "",
        language: str = "",
    ) -> None:
        self.face = face
        self.scale = scale
        self.rise = rise
        self.features = dict(_FEATURES if features is None else features)
        self.tracking = tracking
        self.css = css
        self.strike = False
        self.href = ""
        self.language = language
        self._variants: dict[tuple[str, bool], Style] = {}
        self.words: dict[str, Shaped] = {}
        self.space = self.word(" ")
        self.hyphen_text = "‐" if 0x2010 in face.covered else "-"

    def variant(self, *, href: str = "", strike: bool = False) -> Style:
        """The same letters as a link or struck through; shares the shaped words."""
        twin = self._variants.get((href, strike))
        if twin is None:
            twin = self._variants[href, strike] = Style.__new__(Style)
            twin.__dict__.update(self.__dict__)
            twin.href, twin.strike = href, strike
        return twin

    def word(self, text: str) -> Shaped:
        known = self.words.get(text)
        if known is None:
            known = self.words[text] = self._shape(text)
        return known

    def _shape(self, text: str) -> Shaped:
        buffer = hb.Buffer()
        buffer.add_str(text)
        buffer.guess_segment_properties()
        if buffer.direction == "rtl":
            # or letters that only lean on each other would count as one, and be extracted as one
            buffer.cluster_level = hb.BufferClusterLevel.MONOTONE_CHARACTERS
        if self.language:
            buffer.language = self.language
        hb.shape(self.face.hb_font, buffer, self.features)
        infos, positions = buffer.glyph_infos, buffer.glyph_positions
        width, fragment = self._fragment(
            self._numbers(text, [(info.codepoint, info.cluster) for info in infos]),
            [(position.x_advance, position.x_offset, position.y_offset) for position in positions],
        )
        return width, _with_actual_text(text, fragment) if _REORDERED.search(text) else fragment

    def _numbers(self, text: str, glyphs: list[tuple[int, int]]) -> list[int]:
        """The file's characters for a word's glyphs: the first glyph of a cluster carries all its text."""
        starts = sorted({cluster for _, cluster in glyphs})
        ends = dict(zip(starts, [*starts[1:], len(text)], strict=True))
        seen: set[int] = set()
        numbers = []
        for glyph, cluster in glyphs:
            numbers.append(self.face.number(glyph, "" if cluster in seen else text[cluster : ends[cluster]]))
            seen.add(cluster)
        return numbers

    def _fragment(self, glyphs: list[int], positions: list[tuple[int, int, int]]) -> Shaped:
        face, tracking = self.face, self.tracking
        factor = face.per_mille
        out: list[str] = []
        run: list[str] = []
        width = 0.0
        last = len(glyphs) - 1
        for index, glyph in enumerate(glyphs):
            advance, offset = positions[index][0] * factor + tracking, positions[index][1] * factor
            lift = positions[index][2] * factor
            if lift:
                _flush(out, run)
                out.append(LIFT.format(round(lift)))
            if offset:
                _flush(out, run)
                out.append(f" {round(-offset)}")
            run.append(f"{glyph:04X}")
            if lift:
                _flush(out, run)
                out.append(LIFT.format(0))
            adjust = face.advance(glyph) - advance + offset
            if abs(adjust) >= 0.5 and (index < last or offset or tracking):
                _flush(out, run)
                out.append(f" {round(adjust)}")
            width += advance
        _flush(out, run)
        return width * self.scale, "".join(out)


def _flush(out: list[str], run: list[str]) -> None:
    if run:
        out.append("<" + "".join(run) + ">")
        run.clear()


def _with_actual_text(text: str, fragment: str) -> str:
    """A word that is extracted whole, whatever its glyphs say. Stands inside a show-text array."""
    meant = text.encode("utf-16-be").hex().upper()
    return f"]TJ /Span<</ActualText<FEFF{meant}>>>BDC [{fragment}]TJ EMC ["
