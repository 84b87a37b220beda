"""The design families of covers, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bookgen.render.cover import faces
from bookgen.render.cover.families.arches import arches
from bookgen.render.cover.families.botanical import botanical
from bookgen.render.cover.families.clothbound import clothbound
from bookgen.render.cover.families.constellation import constellation
from bookgen.render.cover.families.contours import contours
from bookgen.render.cover.families.emblem import emblem
from bookgen.render.cover.families.hero import hero
from bookgen.render.cover.families.horizon import horizon
from bookgen.render.cover.families.pebbles import pebbles
from bookgen.render.cover.families.poster import poster
from bookgen.render.cover.families.rays import rays
from bookgen.render.cover.families.rosette import rosette
from bookgen.render.cover.families.scallops import scallops
from bookgen.render.cover.families.skyline import skyline
from bookgen.render.cover.families.swiss import swiss
from bookgen.render.cover.families.tiles import tiles
from bookgen.render.cover.palettes import DARK, LIGHT, Palette
from bookgen.render.cover.sheet import Sheet, Typography

_SERIF = Typography(faces.PLAYFAIR, faces.SERIF_ITALIC, faces.SERIF_CAPITALS)
_SOFT = Typography(faces.FRAUNCES, faces.SERIF_TEXT, faces.SERIF_TEXT)
_BOOKISH = Typography(faces.CORMORANT, faces.SERIF_ITALIC, faces.SERIF_CAPITALS)
_ENGRAVED = Typography(faces.CINZEL, faces.SERIF_ITALIC, faces.SERIF_CAPITALS)
_FAT = Typography(faces.ABRIL, faces.SERIF_TEXT, faces.SANS_CAPITALS)
_GROTESK = Typography(faces.SPARTAN, faces.SANS_TEXT, faces.SANS_TEXT)
_MODERN = Typography(faces.MONTSERRAT, faces.SANS_TEXT, faces.SANS_TEXT)
_CAPITALS = Typography(faces.MONTSERRAT_CAPITALS, faces.SANS_TEXT, faces.SANS_CAPITALS)
_NARROW = Typography(faces.BEBAS, faces.SANS_TEXT, faces.SANS_CAPITALS)
_TALL = Typography(faces.OSWALD, faces.SANS_TEXT, faces.SANS_CAPITALS)
# The title faces that suit a mood, where the family has one of them.
MOOD_FACES = {
    "calm": (faces.CORMORANT, faces.FRAUNCES, faces.MONTSERRAT),
    "tense": (faces.BEBAS, faces.OSWALD, faces.MONTSERRAT_CAPITALS),
    "playful": (faces.ABRIL, faces.FRAUNCES, faces.SPARTAN),
    "solemn": (faces.CINZEL, faces.CORMORANT, faces.PLAYFAIR),
    "warm": (faces.FRAUNCES, faces.ABRIL, faces.PLAYFAIR),
    "wild": (faces.OSWALD, faces.PLAYFAIR, faces.MONTSERRAT_CAPITALS),
    "clear": (faces.SPARTAN, faces.MONTSERRAT, faces.MONTSERRAT_CAPITALS),
}
# The palettes that suit a mood, for a family that has none of the chosen palettes.
MOOD_PALETTES = {
    "calm": ("mist", "sky", "sand", "ocean", "pine"),
    "tense": ("graphite", "oxblood", "midnight", "mist"),
    "playful": ("lemon", "sky", "cobalt", "blush"),
    "solemn": ("midnight", "oxblood", "graphite", "paper", "pine"),
    "warm": ("blush", "mustard", "sand", "oxblood", "plum"),
    "wild": ("pine", "ocean", "sand", "sky"),
    "clear": ("paper", "mist", "mustard", "cobalt", "graphite"),
}


@dataclass(frozen=True, slots=True)
class Family:
    """A way to compose a cover, with suitable palettes and typography.

    `genres`: a book whose genre contains one of these words gets this family before families that do not match.
    `shows`: what a picture by this family shows if it is drawn without text; empty if the family only works with text.
    """

    name: str
    compose: Callable[[Sheet], None]
    palettes: tuple[Palette, ...]
    typography: tuple[Typography, ...]
    genres: tuple[str, ...]
    shows: str = ""


FAMILIES = (
    Family("horizon", horizon, DARK, (_SERIF, _SOFT), ("fiction", "travel", "adventure", "western", "novel"),
           shows="Ridges behind one another under a low sun."),
    Family("tiles", tiles, LIGHT, (_GROTESK, _MODERN), ("business", "technology", "education", "science", "computer")),
    Family("rosette", rosette, DARK[:4], (_ENGRAVED,), ("history", "historical", "classic", "fantasy", "religion")),
    Family("contours", contours, DARK + LIGHT[:3], (_MODERN, _TALL), ("nature", "travel", "geography", "outdoor"),
           shows="The contour lines of a map around a summit."),
    Family("rays", rays, LIGHT, (_FAT, _NARROW), ("adventure", "children", "humor", "cook", "young"),
           shows="A sun that rises with wide rays."),
    Family("scallops", scallops, DARK[:1] + DARK[5:] + LIGHT[:4], (_SOFT, _FAT), ("poetry", "essay", "literary")),
    Family("botanical", botanical, LIGHT[:6], (_BOOKISH, _SOFT), ("romance", "health", "garden", "poetry", "cook"),
           shows="Stems with leaves and berries."),
    Family("swiss", swiss, LIGHT + DARK[4:], (_GROTESK, _CAPITALS), ("business", "design", "art", "essay", "politic")),
    Family("constellation", constellation, DARK, (_CAPITALS, _TALL), ("science fiction", "sci-fi", "science", "space"),
           shows="A planet with its moons on their orbits."),
    Family("skyline", skyline, DARK, (_NARROW, _TALL, _SERIF), ("crime", "thriller", "mystery", "noir", "horror"),
           shows="A town at night, with a light in some of its windows."),
    Family("clothbound", clothbound, DARK[:4] + LIGHT[:4], (_BOOKISH, _SERIF), ("classic", "memoir", "biography")),
    Family("arches", arches, DARK + LIGHT[:2], (_SERIF, _BOOKISH), ("mystery", "fantasy", "literary", "philosophy"),
           shows="Somebody in front of a row of arches that leads to a light."),
    Family("pebbles", pebbles, LIGHT[:6], (_SOFT, _MODERN), ("self", "health", "spiritual", "psychology", "family"),
           shows="Stones balanced on one another over still water."),
    Family("poster", poster, LIGHT + DARK, (_NARROW, _GROTESK, _TALL), ("politic", "manifesto", "sport", "music")),
)  # fmt: skip
# For books whose content is known: the first shows an object from the book, the second the hero of a picture book.
EMBLEM = Family("emblem", emblem, DARK + LIGHT, (_SERIF, _BOOKISH, _SOFT, _CAPITALS, _TALL, _GROTESK), ())
HERO = Family("hero", hero, LIGHT[:6], (_FAT, _SOFT, _GROTESK), ())
DESIGNS = {family.name: family for family in (*FAMILIES, EMBLEM, HERO)}
ROOMIEST = DESIGNS["poster"]  # for titles too long for the other families
SCENES = tuple(family for family in FAMILIES if family.shows)
