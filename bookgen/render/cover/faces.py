"""The display faces of covers. Where one lacks a script, the interior's own chain of faces sets it."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.render.fonts.families import SANS, SERIF, Source


@dataclass(frozen=True, slots=True)
class DisplayFace:
    """`tracking` per mille of the size; `lead` from line to line, by the size, where the letters allow it."""

    source: Source
    bold: bool = True
    italic: bool = False
    capitals: bool = False
    tracking: float = 0.0
    lead: float = 1.04


def _file(name: str, package: str, file: str) -> Source:
    return Source(name, file, file, file, file, package, variable=False)


def _weighted(
    name: str, package: str, file: str, weights: tuple[float, float], italic: str = "", optical: float | None = None
) -> Source:
    slanted = italic or file
    return Source(name, file, slanted, file, slanted, package, optical=optical, weights=weights)


_PLAYFAIR = _weighted(
    "Playfair Display",
    "fontpkg_playfair_display",
    "PlayfairDisplay[wght].ttf",
    (400.0, 800.0),
    "PlayfairDisplay-Italic[wght].ttf",
)
_MONTSERRAT = _weighted("Montserrat", "fontpkg_montserrat", "Montserrat[wght].ttf", (500.0, 800.0))
_OSWALD = _weighted("Oswald", "fontpkg_oswald", "Oswald[wght].ttf", (400.0, 600.0))
_FRAUNCES = _weighted("Fraunces", "fontpkg_fraunces", "Fraunces[SOFT,WONK,opsz,wght].ttf", (400.0, 700.0), optical=72.0)
_CORMORANT = _weighted(
    "Cormorant Garamond",
    "fontpkg_cormorant_garamond",
    "CormorantGaramond[wght].ttf",
    (500.0, 600.0),
    "CormorantGaramond-Italic[wght].ttf",
)
_CINZEL = _weighted("Cinzel", "fontpkg_cinzel", "Cinzel[wght].ttf", (500.0, 600.0))
_SPARTAN = _weighted("League Spartan", "fontpkg_league_spartan", "LeagueSpartan[wght].ttf", (400.0, 700.0))

PLAYFAIR = DisplayFace(_PLAYFAIR)
FRAUNCES = DisplayFace(_FRAUNCES)
CORMORANT = DisplayFace(_CORMORANT, lead=0.98)
CINZEL = DisplayFace(_CINZEL, capitals=True, tracking=25.0, lead=1.1)
MONTSERRAT = DisplayFace(_MONTSERRAT, tracking=-10.0)
MONTSERRAT_CAPITALS = DisplayFace(_MONTSERRAT, capitals=True, tracking=10.0)
SPARTAN = DisplayFace(_SPARTAN, tracking=-15.0, lead=0.96)
OSWALD = DisplayFace(_OSWALD, capitals=True, lead=1.06)
BEBAS = DisplayFace(_file("Bebas Neue", "fontpkg_bebas_neue", "BebasNeue-Regular.ttf"), capitals=True, lead=0.92)
ABRIL = DisplayFace(_file("Abril Fatface", "fontpkg_abril_fatface", "AbrilFatface-Regular.ttf"))

# For what stands beside a title.
SERIF_TEXT = DisplayFace(SERIF, bold=False, lead=1.25)
SERIF_ITALIC = DisplayFace(SERIF, bold=False, italic=True, lead=1.25)
SANS_TEXT = DisplayFace(SANS, bold=False, lead=1.25)
SANS_CAPITALS = DisplayFace(SANS, bold=True, capitals=True, tracking=120.0, lead=1.35)
SERIF_CAPITALS = DisplayFace(_CORMORANT, bold=True, capitals=True, tracking=120.0, lead=1.3)

NARROW = OSWALD  # for a title that is too long for its own face
