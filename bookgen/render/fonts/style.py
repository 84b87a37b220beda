"""A way of setting text: a face at a scale, raised or not, with OpenType features; words shaped once."""

from __future__ import annotations

from collections.abc import Mapping

import uharfbuzz as hb

from bookgen.render.fonts.face import Face

_FEATURES: Mapping[str, bool] = {"kern": True, "liga": True}

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
        underline: bool = False,
        strike: bool = False,
        href: str = "",
        language: str = "",
    ) -> None:
        self.face = face
        self.scale = scale
        self.rise = rise
        self.features = dict(_FEATURES if features is None else features)
        self.tracking = tracking
        self.css = css
        self.strike = strike
        self.href = href
        self.language = language
        self.words: dict[str, Shaped] = {}
        self.space = self.word(" ")
        self.hyphen_text = "‐" if 0x2010 in face.covered else "-"

    def variant(self, *, href: str = "", strike: bool = False) -> Style:
        """The same letters as a link or struck through; shares the shaped words."""
        twin = Style.__new__(Style)
        twin.__dict__.update(self.__dict__)
        twin.href = href or self.href
        twin.strike = strike or self.strike
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
        if self.language:
            buffer.language = self.language
        hb.shape(self.face.hb_font, buffer, self.features)
        infos, positions = buffer.glyph_infos, buffer.glyph_positions
        self._learn(text, [(info.codepoint, info.cluster) for info in infos])
        return self._fragment(
            [info.codepoint for info in infos],
            [(position.x_advance, position.x_offset) for position in positions],
        )

    def _learn(self, text: str, glyphs: list[tuple[int, int]]) -> None:
        """Which text a glyph stands for: the first glyph of a cluster carries it all."""
        text_of = self.face.text_of
        starts = sorted({cluster for _, cluster in glyphs})
        ends = dict(zip(starts, [*starts[1:], len(text)], strict=True))
        seen: set[int] = set()
        for glyph, cluster in glyphs:
            if glyph not in text_of:
                text_of[glyph] = "" if cluster in seen else text[cluster : ends[cluster]]
            seen.add(cluster)

    def _fragment(self, glyphs: list[int], positions: list[tuple[int, int]]) -> Shaped:
        face, tracking = self.face, self.tracking
        factor = face.per_mille
        out: list[str] = []
        run: list[str] = []
        width = 0.0
        last = len(glyphs) - 1
        for index, glyph in enumerate(glyphs):
            advance, offset = positions[index][0] * factor + tracking, positions[index][1] * factor
            if offset:
                _flush(out, run)
                out.append(f" {round(-offset)}")
            run.append(f"{glyph:04X}")
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
