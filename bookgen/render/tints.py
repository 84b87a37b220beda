"""What a page takes from a picture: the colour of the paper beside it, and a round piece of it."""

from __future__ import annotations

import colorsys
import io

from PIL import Image, ImageDraw

from bookgen.render.cover.colour import WHITE, Colour, colour, contrast, mix
from bookgen.render.model import Picture
from bookgen.render.pictures import jpeg

PLAIN = colour("#fdf6e8")
_LEAST = 11.0  # contrast of black on a tint: a child reads it
_SHARE = 0.76  # of white
_FRESH = 2.0  # times more colour than the picture has when all of it is mixed
_FOCUS, _BELOW = 0.74, 0.08  # of a side: how much of the picture a medallion shows, and how far under its middle
_POINTS, _PIXELS = 72.0, 300.0  # an inch
_SMOOTH = 4  # times larger is a mask drawn


def tint(picture: Picture) -> Colour:
    """A light colour of the picture's own."""
    with Image.open(io.BytesIO(picture.data)) as image:
        image.draft("RGB", (64, 64))
        red, green, blue = image.convert("RGB").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))  # type: ignore[misc]
    hue, lightness, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    red, green, blue = (
        round(each * 255) for each in colorsys.hls_to_rgb(hue, lightness, min(1.0, saturation * _FRESH))
    )
    found = mix((red, green, blue), WHITE, _SHARE)
    while contrast(found, (0, 0, 0)) < _LEAST:
        found = mix(found, WHITE, 0.2)
    return found


def medallion(picture: Picture, width: float, ground: Colour) -> Picture:
    """The middle of the picture in a circle on `ground`, `width` points across."""
    side = round(width / _POINTS * _PIXELS)
    with Image.open(io.BytesIO(picture.data)) as opened:
        image = opened.convert("RGB")
    edge = round(min(image.size) * _FOCUS)
    left, top = (image.width - edge) // 2, round((image.height - edge) / 2 + image.height * _BELOW)
    cut = image.crop((left, top, left + edge, top + edge)).resize((side, side), Image.Resampling.LANCZOS)
    mask = Image.new("L", (side * _SMOOTH // 2, side * _SMOOTH // 2), 0)
    ImageDraw.Draw(mask).ellipse((0, 0, mask.width - 1, mask.height - 1), fill=255)
    page = Image.new("RGB", (side, side), ground)
    page.paste(cut, (0, 0), mask.resize((side, side), Image.Resampling.LANCZOS))
    return jpeg(page, quality=92, optimize=False)
