"""The variants of a cover: the choice of family, palette and typefaces, and the drawing."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bookgen.render.characters import one_line
from bookgen.render.cover.drawing import Drawing
from bookgen.render.cover.faces import DisplayFace
from bookgen.render.cover.families import FAMILIES, MOOD_FACES, MOOD_PALETTES, ROOMIEST, SCENES, Family
from bookgen.render.cover.job import UNKNOWN, Copy, Subject
from bookgen.render.cover.lettering import Typesetter
from bookgen.render.cover.palettes import Palette
from bookgen.render.cover.sheet import Sheet, Typography


def family_of(seed: str, genre: str, variant: int, style: str = "", avoided: Sequence[str] = ()) -> Family:
    """The design family for a book's cover number `variant`. A `style` that names a family selects it.

    Families for the book's genre come first, and none repeats before all have been used. `avoided`: the names of
    families that are left out.
    """
    if named := family_in(style):
        return named
    return _nth([each for each in FAMILIES if each.name not in avoided], f"family {seed}", genre, variant)


def family_in(style: str) -> Family | None:
    """The design family whose name occurs in `style`. None if there is none."""
    wanted = style.casefold()
    return next((family for family in FAMILIES if family.name in wanted), None)


def draw_front(
    copy: Copy,
    *,
    seed: str,
    family: Family,
    variant: int,
    width: float,
    height: float,
    subject: Subject = UNKNOWN,
) -> Drawing:
    """Draw the front cover, with sizes in pixels. The same arguments give the same drawing in every process."""
    copy = Copy(one_line(copy.title), one_line(copy.subtitle), one_line(copy.author), copy.language)
    typesetters: dict[DisplayFace, Typesetter] = {}
    for each in dict.fromkeys((family, ROOMIEST)):
        chance = random.Random(f"{seed} {family.name} {variant}")
        palette, typography = chance.choice(palettes_for(family, subject)), chance.choice(_typography(family, subject))
        sheet = Sheet(Drawing(width, height), copy, palette, typography, chance, variant, typesetters, subject)
        each.compose(sheet)
        if not sheet.title_crowds_design:
            break
    return sheet.drawing


def palettes_for(family: Family, subject: Subject) -> Sequence[Palette]:
    """The family's palettes to choose from, at least one.

    Returns the first of `subject.palettes` that the family has. If it has none of them, returns the family's palettes
    that suit the subject's mood, or all its palettes if none does.
    """
    of_family = {palette.name: palette for palette in family.palettes}
    chosen = [of_family[name] for name in subject.palettes if name in of_family]
    suited = [of_family[name] for name in MOOD_PALETTES.get(subject.mood, ()) if name in of_family]
    return chosen[:1] or suited or family.palettes


def _typography(family: Family, subject: Subject) -> Sequence[Typography]:
    suited = MOOD_FACES.get(subject.mood, ())
    return [each for each in family.typography if each.title in suited] or family.typography


def draw_scene(*, seed: str, family: Family, width: float, height: float) -> Drawing:
    """Draw the family's composition without text, with sizes in pixels."""
    chance = random.Random(f"{seed} {family.name} scene")
    drawing = Drawing(width, height)
    palette, typography = chance.choice(family.palettes), chance.choice(family.typography)
    family.compose(Sheet(drawing, Copy("", "", "", ""), palette, typography, chance))
    return drawing


def scene_of(seed: str, genre: str, variant: int) -> Family:
    """The design family for a book's picture number `variant`, chosen among the families that work without text."""
    return _nth(SCENES, f"scene {seed}", genre, variant)


def _nth(families: Sequence[Family], seed: str, genre: str, number: int) -> Family:
    """The family at position `number` (from 0, wrapping around) in a random order that depends on `seed`.

    Families for the genre come first in this order.
    """
    chance, genre = random.Random(seed), genre.casefold()
    suited = {family.name: any(word in genre for word in family.genres) for family in families}
    order = sorted(families, key=lambda family: (not suited[family.name], chance.random()))
    return order[number % len(order)]
