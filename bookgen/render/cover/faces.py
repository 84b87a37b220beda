"""The display typefaces of covers. Scripts that a typeface lacks are set in the fallback faces of the book's pages."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.render.fonts.families import SANS, SERIF, Source, static, variable


@dataclass(frozen=True, slots=True)
class DisplayFace:
    """A typeface, and how text in it is set on a cover: weight, slant, case and spacing.

    `tracking`: additional space between letters, per mille of the type size. `lead`: the distance between baselines as
    a multiple of the type size; it is increased where letters of two lines would touch.
    """

    source: Source
    bold: bool = True
    italic: bool = False
    capitals: bool = False
    tracking: float = 0.0
    lead: float = 1.04


_PLAYFAIR = variable("Playfair Display", weights=(400.0, 800.0))
_MONTSERRAT = variable("Montserrat", italic=False, weights=(500.0, 800.0))
_OSWALD = variable("Oswald", italic=False, weights=(400.0, 600.0))
_FRAUNCES = variable("Fraunces", "SOFT,WONK,opsz,wght", italic=False, optical=72.0)
_CORMORANT = variable("Cormorant Garamond", weights=(500.0, 600.0))
_CINZEL = variable("Cinzel", italic=False, weights=(500.0, 600.0))
_SPARTAN = variable("League Spartan", italic=False)
_BEBAS = static("Bebas Neue", ("Regular",) * 4)
_ABRIL = static("Abril Fatface", ("Regular",) * 4)

PLAYFAIR = DisplayFace(_PLAYFAIR)
FRAUNCES = DisplayFace(_FRAUNCES)
CORMORANT = DisplayFace(_CORMORANT, lead=0.98)
CINZEL = DisplayFace(_CINZEL, capitals=True, tracking=25.0, lead=1.1)
MONTSERRAT = DisplayFace(_MONTSERRAT, tracking=-10.0)
MONTSERRAT_CAPITALS = DisplayFace(_MONTSERRAT, capitals=True, tracking=10.0)
SPARTAN = DisplayFace(_SPARTAN, tracking=-15.0, lead=0.96)
OSWALD = DisplayFace(_OSWALD, capitals=True, lead=1.06)
BEBAS = DisplayFace(_BEBAS, capitals=True, lead=0.92)
ABRIL = DisplayFace(_ABRIL)

# For subtitles and authors.
SERIF_TEXT = DisplayFace(SERIF, bold=False, lead=1.25)
SERIF_ITALIC = DisplayFace(SERIF, bold=False, italic=True, lead=1.25)
SANS_TEXT = DisplayFace(SANS, bold=False, lead=1.25)
SANS_CAPITALS = DisplayFace(SANS, bold=True, capitals=True, tracking=120.0, lead=1.35)
SERIF_CAPITALS = DisplayFace(_CORMORANT, bold=True, capitals=True, tracking=120.0, lead=1.3)

NARROW = OSWALD  # for a title that is too long for its own face
