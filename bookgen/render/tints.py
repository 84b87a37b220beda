"""Derives from a picture the background colour of the page next to it, and a round cut-out."""

from __future__ import annotations

import colorsys
import io

from PIL import Image, ImageDraw

from bookgen.render.cover.colour import WHITE, Colour, colour, contrast, mix
from bookgen.render.model import Picture
from bookgen.render.pictures import jpeg

PLAIN = colour("#fdf6e8")
_LEAST = 11.0  # the lowest contrast of black text on a tint, high because children read it
_SHARE = 0.76  # the share of white in a tint
_FRESH = 2.0  # the factor for the saturation of the picture's average colour
_FOCUS, _BELOW = 0.74, 0.08  # the part of a side that a medallion shows, and its offset below the middle
_POINTS, _PIXELS = 72.0, 300.0  # per inch
_SMOOTH = 4  # the oversampling of the mask


def tint(picture: Picture) -> Colour:
    """A light background colour derived from the picture's average colour."""
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
    """The middle of the picture as a circle on `ground`, `width` points wide."""
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
