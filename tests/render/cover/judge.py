"""The faults of a cover, found in its boxes and in its pixels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import imagehash
import numpy as np
from PIL import Image, ImageChops

from bookgen.render.cover.colour import CONTRAST, TITLE_CONTRAST, Colour, contrast
from bookgen.render.cover.drawing import Box, Drawing, Lettering
from bookgen.render.cover.job import Copy
from bookgen.render.cover.make import HEIGHT, WIDTH
from bookgen.render.cover.variants import draw_front, family_of
from bookgen.render.pdf.raster import letters, raster

THUMBNAIL = 160
MIN_CAPITAL = 9  # pixels in the thumbnail
MARGIN = 0.025  # share of the width
LOOKED_AT = 400  # pixels of width at which pixels are judged
SEEN = 24  # distance of a pixel of ink from its ground, in the strongest channel
NEAR = 6  # of 64 bits, how many differ at least between two covers


def faults(drawing: Drawing, copy: Copy) -> Iterator[str]:
    """The faults of a drawing, from its boxes and its pixels."""
    yield from boxes(drawing, copy)
    yield from pixels(drawing)


def boxes(drawing: Drawing, copy: Copy) -> Iterator[str]:
    safe = drawing.page.inset(MARGIN * drawing.width)
    expected = ["title", *(["subtitle"] if copy.subtitle else []), *(["author"] if copy.author else [])]
    if sorted(each.role for each in drawing.letterings) != sorted(expected):
        yield "a text is missing"
    for each in drawing.letterings:
        if not _within(each.box, safe):
            yield f"the {each.role} leaves the safe area"
        if each.missing:
            yield f"the {each.role} has {each.missing} letters that no font has"
        if contrast(each.ink, each.ground) < _least(each):
            yield f"the {each.role} has a contrast of {contrast(each.ink, each.ground):.1f}"
        if each.role == "title" and each.height * THUMBNAIL / drawing.width < MIN_CAPITAL:
            yield f"the title is {each.height * THUMBNAIL / drawing.width:.1f} pixels high in a thumbnail"
    for one, other in itertools.combinations(drawing.letterings, 2):
        if _overlap(one.box, other.box):
            yield f"{one.role} and {other.role} overlap"


def _overlap(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom


def _within(box: Box, other: Box) -> bool:
    return box.left >= other.left and box.top >= other.top and box.right <= other.right and box.bottom <= other.bottom


def pixels(drawing: Drawing) -> Iterator[str]:
    """Differences between the declared boxes and the pixels of texts."""
    art = raster(Drawing(drawing.width, drawing.height, drawing.shapes), LOOKED_AT)
    colours = np.asarray(art)
    taken = np.zeros(colours.shape[:2], bool)
    for each in drawing.letterings:
        ink = _ink(art, drawing, each)
        if not ink.any():
            yield f"the {each.role} leaves no ink"
            continue
        if (ink & taken).any():
            yield f"the {each.role} lies on another text"
        taken |= ink
        if ink[0].any() or ink[-1].any() or ink[:, 0].any() or ink[:, -1].any():
            yield f"the {each.role} runs off the page"
        if not _within(_box(ink, drawing), each.box.inset(-4 * drawing.width / LOOKED_AT)):
            yield f"the {each.role} has ink outside of its box"
        around = _shades(colours[_grown(ink)])
        worst = min((contrast(each.ink, shade) for shade in around), default=21.0)
        if worst < _least(each) - 0.2:
            yield f"the {each.role} stands on a contrast of {worst:.1f}"


def alike(seed: str, copy: Copy, genre: str) -> int:
    """How many of 64 bits differ between the two most similar of a book's first three covers."""
    found = [looks(draw(seed, copy, genre, variant)) for variant in range(3)]
    return min(one - other for one, other in itertools.combinations(found, 2))


def looks(drawing: Drawing) -> imagehash.ImageHash:
    """The perceptual hash of a cover."""
    return imagehash.phash(raster(drawing, LOOKED_AT))


def draw(seed: str, copy: Copy, genre: str, variant: int) -> Drawing:
    family = family_of(seed, genre, variant)
    return draw_front(copy, seed=seed, family=family, variant=variant, width=WIDTH, height=HEIGHT)


def _least(each: Lettering) -> float:
    return TITLE_CONTRAST if each.role == "title" else CONTRAST


def _ink(art: Image.Image, drawing: Drawing, lettering: Lettering) -> np.ndarray:
    """The visible pixels of a text on the art."""
    layer = letters(Drawing(drawing.width, drawing.height, [], [lettering]), LOOKED_AT)
    page = art.copy()
    page.paste(layer, mask=layer.getchannel("A"))
    red, green, blue = ImageChops.difference(art, page).split()
    return np.asarray(ImageChops.lighter(ImageChops.lighter(red, green), blue)) > SEEN


def _box(ink: np.ndarray, drawing: Drawing) -> Box:
    scale = drawing.width / LOOKED_AT
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    return Box(columns[0] * scale, rows[0] * scale, (columns[-1] + 1) * scale, (rows[-1] + 1) * scale)


def _grown(ink: np.ndarray) -> np.ndarray:
    """The ink and all pixels within two pixels of it."""
    for axis in (0, 1):
        ink = np.logical_or.reduce([np.roll(ink, steps, axis) for steps in range(-2, 3)])
    return ink


def _shades(pixels: np.ndarray) -> list[Colour]:
    """Each distinct colour among the pixels."""
    red, green, blue = pixels.astype(int).T
    return [(shade >> 16, shade >> 8 & 255, shade & 255) for shade in set((red << 16 | green << 8 | blue).tolist())]
