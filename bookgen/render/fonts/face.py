"""One font file at one weight: its glyphs, their widths, and the text each glyph represents."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import uharfbuzz as hb

_ESCAPED = {ord(each): f"\\{each}" for each in "\\()"} | {ord("\r"): "\\r"}


class Face:
    """A font that collects, while words are shaped, the characters to embed in the finished file.

    A character is a glyph together with the text it represents. If one glyph represents different texts, as happens
    with ligatures, it gets a number for each text, so that text copied from the file is correct.
    """

    def __init__(self, key: str, path: Path, variations: dict[str, float] | None = None, index: int = 0) -> None:
        self.key = key
        self.path = path
        self.variations = variations or {}
        self.hb_face = hb.Face(hb.Blob.from_file_path(str(path)), index)
        self.hb_font = hb.Font(self.hb_face)
        if self.variations:
            self.hb_font.set_variations(self.variations)
        self.per_mille = 1000.0 / self.hb_face.upem
        self.text_of: dict[int, str] = {0: ""}
        self.glyph_of: dict[int, int] = {}  # the glyph of each additional number
        self._additional: dict[tuple[int, str], int] = {}
        self._advances: dict[int, float] = {}
        self._codes: dict[int, str] = {}

    @cached_property
    def covered(self) -> frozenset[int]:
        return frozenset(self.hb_face.unicodes)

    @cached_property
    def has_outlines_in_cff(self) -> bool:
        return bool(self.hb_face.reference_table("CFF ").data)

    @cached_property
    def has_small_capitals(self) -> bool:
        return "smcp" in self.hb_face.get_language_feature_tags("GSUB")

    @cached_property
    def cap_height(self) -> float:
        """The height of capitals as a share of the em."""
        glyph = self.hb_font.get_nominal_glyph(ord("H"))
        extents = self.hb_font.get_glyph_extents(glyph) if glyph else None
        return extents.y_bearing * self.per_mille / 1000 if extents else 0.67

    def number(self, glyph: int, text: str) -> int:
        """The number of the character that shows `glyph` and represents `text`."""
        meant = self.text_of.setdefault(glyph, text)
        if meant == text or self.has_outlines_in_cff:
            return glyph
        number = self._additional.get((glyph, text))
        if number is None:
            number = self._additional[glyph, text] = self.hb_face.glyph_count + len(self._additional)
            self.text_of[number] = text
            self.glyph_of[number] = glyph
        return number

    def advance(self, number: int) -> float:
        """The advance width of character `number`, per mille of the em."""
        width = self._advances.get(number)
        if width is None:
            glyph = self.glyph_of.get(number, number)
            width = self._advances[number] = self.hb_font.get_glyph_h_advance(glyph) * self.per_mille
        return width

    def code(self, number: int) -> str:
        """Character `number` as it is written in a PDF string: two bytes, with special characters escaped."""
        code = self._codes.get(number)
        if code is None:
            high, low = divmod(number, 256)
            code = self._codes[number] = (chr(high) + chr(low)).translate(_ESCAPED)
        return code
