"""A book's front cover: the choice of family, palette and typefaces, and the drawing."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bookgen.render.characters import one_line
from bookgen.render.cover.drawing import Drawing
from bookgen.render.cover.faces import DisplayFace
from bookgen.render.cover.families import FAMILIES, ROOMIEST, SCENES, Family
from bookgen.render.cover.job import Copy
from bookgen.render.cover.lettering import Typesetter
from bookgen.render.cover.sheet import Sheet


def family_of(seed: str, genre: str, variant: int, style: str = "") -> Family:
    """The family for a book's cover number `variant`. A `style` that names a family selects it.

    Families for the book's genre come first, and none repeats before all have been used.
    """
    wanted = style.casefold()
    for family in FAMILIES:
        if family.name in wanted:
            return family
    return _nth(FAMILIES, f"family {seed}", genre, variant)


def draw_front(copy: Copy, *, seed: str, family: Family, variant: int, width: float, height: float) -> Drawing:
    """Draw the front cover, with sizes in pixels. The same arguments give the same drawing in every process."""
    copy = Copy(one_line(copy.title), one_line(copy.subtitle), one_line(copy.author), copy.language)
    typesetters: dict[DisplayFace, Typesetter] = {}
    for each in dict.fromkeys((family, ROOMIEST)):
        chance = random.Random(f"{seed} {family.name} {variant}")
        palette, typography = chance.choice(family.palettes), chance.choice(family.typography)
        sheet = Sheet(Drawing(width, height), copy, palette, typography, chance, variant, typesetters)
        each.compose(sheet)
        if not sheet.filled:
            break
    return sheet.drawing


def draw_scene(*, seed: str, family: Family, width: float, height: float) -> Drawing:
    """Draw the family's composition without text, with sizes in pixels."""
    chance = random.Random(f"{seed} {family.name} scene")
    drawing = Drawing(width, height)
    palette, typography = chance.choice(family.palettes), chance.choice(family.typography)
    family.compose(Sheet(drawing, Copy("", "", "", ""), palette, typography, chance))
    return drawing


def scene_of(seed: str, genre: str, variant: int) -> Family:
    """The family for a book's picture number `variant`, among those that work without text."""
    return _nth(SCENES, f"scene {seed}", genre, variant)


def _nth(families: Sequence[Family], seed: str, genre: str, number: int) -> Family:
    """Family number `number` (from 0, wrapping around) in the book's own random order, its genre's families first."""
    chance, genre = random.Random(seed), genre.casefold()
    suited = {family.name: any(word in genre for word in family.genres) for family in families}
    order = sorted(families, key=lambda family: (not suited[family.name], chance.random()))
    return order[number % len(order)]
