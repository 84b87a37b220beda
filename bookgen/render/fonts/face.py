"""One font file at one weight: glyphs, widths, and which text each glyph stands for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import uharfbuzz as hb


class Face:
    """Collects, while words are shaped, the glyphs that the finished file has to embed."""

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
        self._advances: dict[int, float] = {}

    @cached_property
    def covered(self) -> frozenset[int]:
        return frozenset(self.hb_face.unicodes)

    @cached_property
    def has_small_capitals(self) -> bool:
        return "smcp" in hb.ot_layout_language_get_feature_tags(self.hb_face, "GSUB")

    @cached_property
    def cap_height(self) -> float:
        """As a share of the em."""
        glyph = self.hb_font.get_nominal_glyph(ord("H"))
        extents = self.hb_font.get_glyph_extents(glyph) if glyph else None
        return extents.y_bearing * self.per_mille / 1000 if extents else 0.67

    def advance(self, glyph: int) -> float:
        """The glyph's own width per mille of the em."""
        width = self._advances.get(glyph)
        if width is None:
            width = self._advances[glyph] = self.hb_font.get_glyph_h_advance(glyph) * self.per_mille
        return width
