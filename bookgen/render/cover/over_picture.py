"""Puts title and author on a picture, and shades the picture until both are readable."""

from __future__ import annotations

import random

from PIL import Image, ImageDraw, ImageFilter, ImageOps

from bookgen.render.cover import faces
from bookgen.render.cover.colour import CONTRAST, TITLE_CONTRAST, Colour, contrast, luminance, mix
from bookgen.render.cover.drawing import Box, Drawing
from bookgen.render.cover.job import Copy
from bookgen.render.cover.palettes import Palette
from bookgen.render.cover.sheet import PlacedTexts, Sheet, Typography
from bookgen.render.pdf.raster import letters

_LIGHT: Colour = (250, 246, 236)
_DARK: Colour = (18, 18, 24)
_TYPOGRAPHY = (
    Typography(faces.PLAYFAIR, faces.SERIF_ITALIC, faces.SERIF_CAPITALS),
    Typography(faces.MONTSERRAT_CAPITALS, faces.SANS_TEXT, faces.SANS_CAPITALS),
    Typography(faces.CORMORANT, faces.SERIF_ITALIC, faces.SERIF_CAPITALS),
)
_STRONGEST = 0.94


def lettered(picture: Image.Image, copy: Copy, *, seed: str, width: int, height: int) -> Image.Image:
    """Crop the picture to the size in pixels and put the texts on it. Returns the result.

    The title is at the top or at the foot, wherever the picture has less detail; the author is at the other end. `seed`
    chooses the typefaces.
    """
    image = ImageOps.fit(picture.convert("RGB"), (width, height), Image.Resampling.LANCZOS)
    chance = random.Random(f"over {seed}")
    palette = Palette("picture", _DARK, _LIGHT, (_LIGHT, _LIGHT, _LIGHT, _LIGHT))
    sheet = Sheet(Drawing(width, height), copy, palette, chance.choice(_TYPOGRAPHY), chance)
    head, author = ("top", "foot") if _busy(image, 0.05, 0.42) <= _busy(image, 0.58, 0.95) else ("foot", "top")
    placed = sheet.place(head=head, author=author, share=0.3)
    titles = Box(0, placed.head_top, width, placed.head_bottom)
    image, ink, ground = _shaded(image, titles, TITLE_CONTRAST)
    author_ink, author_ground = ink, ground
    if box := _author(placed, sheet):
        image, author_ink, author_ground = _shaded(image, box, CONTRAST)
    sheet.letter(placed, (ground,), title=ink, subtitle=ink, author=author_ink, author_ground=author_ground)
    texts = letters(sheet.drawing)
    image.paste(texts, mask=texts.getchannel("A"))
    return image


def _author(placed: PlacedTexts, sheet: Sheet) -> Box | None:
    author = placed.texts and placed.texts.author
    return Box(0, placed.author_top, sheet.page.right, placed.author_top + author.height) if author else None


def _busy(image: Image.Image, start: float, end: float) -> float:
    """The amount of detail between two heights, given as shares of the image height."""
    band = image.crop((0, round(image.height * start), image.width, round(image.height * end)))
    edges = band.convert("L").resize((100, 60)).filter(ImageFilter.FIND_EDGES)
    histogram = edges.histogram()
    return sum(value * count for value, count in enumerate(histogram))


def _shaded(image: Image.Image, box: Box, least: float) -> tuple[Image.Image, Colour, Colour]:
    """Darken or lighten the box until text on it has the contrast `least`.

    Returns the picture, the text colour, and the background colour in the box with the lowest contrast to the text.
    """
    tone = _mean(image, box)
    ink, toward = (_LIGHT, mix(tone, (0, 0, 0), 0.85)) if luminance(tone) < 0.4 else (_DARK, mix(tone, (255,) * 3, 0.9))
    strength = 0.0
    shaded = image
    while contrast(ink, ground := _worst(shaded, box, ink)) < least and strength < _STRONGEST:
        strength = min(_STRONGEST, strength + 0.12)
        shaded = _veiled(image, box, toward, strength)
    return shaded, ink, ground


def _veiled(image: Image.Image, box: Box, toward: Colour, strength: float) -> Image.Image:
    soft = image.width * 0.03
    mask = Image.new("L", (image.width // 8, image.height // 8), 0)
    corners = (0, (box.top - soft * 2) / 8, mask.width, (box.bottom + soft * 2) / 8)
    ImageDraw.Draw(mask).rectangle(corners, fill=round(255 * strength))
    mask = mask.filter(ImageFilter.GaussianBlur(soft / 8)).resize(image.size, Image.Resampling.BILINEAR)
    return Image.composite(Image.new("RGB", image.size, toward), image, mask)


def _mean(image: Image.Image, box: Box) -> Colour:
    red, green, blue = _small(image, box).resize((1, 1), Image.Resampling.BOX).tobytes()
    return red, green, blue


def _worst(image: Image.Image, box: Box, ink: Colour) -> Colour:
    """The colour in the box with the lowest contrast to `ink`, the colour of the text."""
    data = _small(image, box).tobytes()
    shades = {(data[at], data[at + 1], data[at + 2]) for at in range(0, len(data), 3)}
    return min(shades, key=lambda shade: contrast(ink, shade))


def _small(image: Image.Image, box: Box) -> Image.Image:
    area = (round(box.left), round(box.top), round(box.right), max(round(box.bottom), round(box.top) + 1))
    return image.crop(area).resize((64, 32), Image.Resampling.BOX)
