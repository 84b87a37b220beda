"""Text across the page, opaque and light, under the words."""

from __future__ import annotations

import math

from bookgen.render.fonts.style import Style
from bookgen.render.fonts.typeface import Typeface

_GREY = 0.9
_SHARE = 0.72  # of the page's diagonal


def watermark(text: str, typeface: Typeface, names: dict[str, str], width: float, height: float) -> str:
    """The operators of one page's mark; an artifact, so that it is not read aloud."""
    pieces = typeface.pieces(text, bold=True)
    length = sum(_advance(piece, style) for piece, style in pieces)
    diagonal = math.hypot(width, height)
    size = min(44.0, diagonal * _SHARE / length * 1000.0)
    cosine, sine = width / diagonal, height / diagonal
    half = length * size / 2000.0
    x, y = width / 2 - half * cosine, height / 2 - half * sine
    out = [f"q {_GREY} g BT 100 Tz {cosine:.4f} {sine:.4f} {-sine:.4f} {cosine:.4f} {x:.2f} {y:.2f} Tm"]
    out += [f"{names[style.face.key]} {size:.2f} Tf [{style.word(piece)[1]}]TJ" for piece, style in pieces]
    return "/Artifact <</Type /Pagination /Subtype /Watermark>> BDC\n" + " ".join(out) + " ET Q\nEMC"


def _advance(text: str, style: Style) -> float:
    return style.word(text)[0]
