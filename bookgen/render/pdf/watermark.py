"""A watermark: light, opaque text across the page below its content, and a small line in the bottom margin."""

from __future__ import annotations

import math

from bookgen.render.fonts.typeface import Typeface

_GREY = 0.9
_SHARE = 0.72  # of the page's diagonal
# Text extraction puts each slanted letter on its own line, so an upright line is added that can be searched for.
_LINE_GREY, _LINE_SIZE, _LINE_HEIGHT = 0.55, 7.0, 16.0


def watermark(text: str, typeface: Typeface, names: dict[str, str], width: float, height: float) -> str:
    """The operators of a page's watermark. It is an artifact, so that it is not read aloud."""
    pieces = typeface.pieces(text, bold=True)
    length = sum(style.word(piece)[0] for piece, style in pieces)
    diagonal = math.hypot(width, height)
    size = min(44.0, diagonal * _SHARE / length * 1000.0)
    cosine, sine = width / diagonal, height / diagonal
    half = length * size / 2000.0
    x, y = width / 2 - half * cosine, height / 2 - half * sine
    across = f"{cosine:.4f} {sine:.4f} {-sine:.4f} {cosine:.4f} {x:.2f} {y:.2f}"
    upright = f"1 0 0 1 {(width - length * _LINE_SIZE / 1000.0) / 2:.2f} {_LINE_HEIGHT:.2f}"
    marks = ((_GREY, across, size), (_LINE_GREY, upright, _LINE_SIZE))
    drawn = []
    for grey, place, size in marks:
        shown = (f"{names[style.face.key]} {size:.2f} Tf [{style.word(piece)[1]}]TJ" for piece, style in pieces)
        drawn.append(f"{grey} g BT 100 Tz {place} Tm {' '.join(shown)} ET")
    return "/Artifact <</Type /Pagination /Subtype /Watermark>> BDC\nq " + " ".join(drawn) + " Q\nEMC"
