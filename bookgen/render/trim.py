"""Trim sizes and what the printers ask of a page: data, with the day it was read from their help pages.

KDP: topics G201834180, GVBQ3CMEQW3W2VL6, G6GTK3T3NUHKLEFX; IngramSpark: file creation guide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

VERIFIED_ON = "2026-11-20"

INCH = 72.0
MM = INCH / 25.4
BLEED = 0.125 * INCH
SAFE = 0.5 * INCH  # IngramSpark: no text nearer to the trim, folios and running heads included


@dataclass(frozen=True, slots=True)
class Trim:
    """A page size in points, as callers read it, with the body size that reads well on it."""

    name: str
    label: str
    width: float
    height: float
    font_size: float

    @property
    def width_mm(self) -> float:
        return round(self.width / MM, 2)

    @property
    def height_mm(self) -> float:
        return round(self.height / MM, 2)


def _inches(width: float, height: float, font_size: float, known_as: str = "") -> Trim:
    label = f"{width:g} × {height:g} in" + f" ({known_as})" * bool(known_as)
    return Trim(f"{width:g}x{height:g}", label, round(width * INCH, 2), round(height * INCH, 2), font_size)


TRIMS = {
    trim.name: trim
    for trim in (
        _inches(5, 8, 10),
        _inches(5.25, 8, 10),
        _inches(5.5, 8.5, 10.5, "digest"),
        _inches(6, 9, 10.5, "trade paperback"),
        _inches(6.14, 9.21, 11, "royal"),
        _inches(7, 10, 11),
        _inches(8, 10, 11.5),
        _inches(8.5, 8.5, 12, "square"),
        _inches(8.5, 11, 12, "letter"),
        Trim("a5", "A5", round(148 * MM, 2), round(210 * MM, 2), 10.5),
        Trim("a4", "A4", round(210 * MM, 2), round(297 * MM, 2), 12),
    )
}
DEFAULT_TRIM = "6x9"

# KDP's smallest inside margin by page count, in inches.
_INSIDE = ((150, 0.375), (300, 0.5), (500, 0.625), (700, 0.75), (math.inf, 0.875))

# Thickness of one page in inches, by paper; KDP's own figures.
PAPER = {"white": 0.002252, "cream": 0.0025}
SPINE_TEXT_FROM = 79


def kdp_inside(pages: int) -> float:
    """The least inside margin in points that KDP takes for a book of that many pages."""
    return next(inside for upto, inside in _INSIDE if pages <= upto) * INCH


def inside_margin(pages: int) -> float:
    """Ours: an eighth of an inch more than the printer's least, and never under three quarters."""
    return max(0.75 * INCH, kdp_inside(pages) + 0.125 * INCH)


def spine_width(pages: int, paper: str) -> float:
    """The spine in points; printers count an odd page as two."""
    return (pages + pages % 2) * PAPER[paper] * INCH
