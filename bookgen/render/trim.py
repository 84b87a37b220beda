"""Trim sizes, and the printers' rules for pages and covers, read from `print_rules.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("print_rules.toml").read_text("utf-8"))

INCH = 72.0
MM = INCH / 25.4
BLEED: float = RULES["interior"]["bleed"] * INCH
SAFE: float = RULES["interior"]["safe"] * INCH


@dataclass(frozen=True, slots=True)
class Trim:
    """A page size in points. `name` is its name in the API, `font_size` the type size in points that suits the page."""

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


def kdp_inside(pages: int) -> float:
    """The smallest inside margin, in points, that Amazon KDP accepts for a book of this many pages."""
    bands: list[tuple[int, float]] = RULES["interior"]["inside"]
    return next((inside for upto, inside in bands if pages <= upto), bands[-1][1]) * INCH


def inside_margin(pages: int) -> float:
    """Our inside margin in points: 1/8 inch more than KDP's minimum, and at least 3/4 inch."""
    return max(0.75 * INCH, kdp_inside(pages) + 0.125 * INCH)


def spine_width(pages: int, paper: str) -> float:
    """The width of the spine in points. Printers round the page count up to an even number."""
    thickness: float = RULES["paperback"]["page"][paper]
    return (pages + pages % 2) * thickness * INCH
