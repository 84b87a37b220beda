"""A drawing as pixels."""

from __future__ import annotations

import io

import resvg_py
from PIL import Image

from bookgen.render.cover.colour import Colour
from bookgen.render.cover.drawing import Drawing


def raster(drawing: Drawing, width: int = 0) -> Image.Image:
    """In RGB, so many pixels wide; without a width one pixel a unit."""
    with Image.open(io.BytesIO(_png(svg(drawing), width))) as image:
        return image.convert("RGB")


def letters(drawing: Drawing) -> Image.Image:
    """The texts alone in RGBA, on nothing."""
    with Image.open(io.BytesIO(_png(svg(Drawing(drawing.width, drawing.height, [], drawing.letterings))))) as image:
        return image.convert("RGBA")


def svg(drawing: Drawing) -> str:
    width, height = round(drawing.width), round(drawing.height)
    shapes = "".join(_line(each.path, each.colour, each.line) for each in drawing.shapes)
    texts = "".join(_line(each.path, each.ink) for each in drawing.letterings)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return f"{head}{shapes}{texts}</svg>"


def _png(text: str, width: int = 0) -> bytes:
    return resvg_py.svg_to_bytes(svg_string=text, skip_system_fonts=True, width=width or None)


def _line(path: str, colour: Colour, line: float = 0.0) -> str:
    """Filled, or drawn as a line of so many pixels."""
    red, green, blue = colour
    code = f"#{red:02x}{green:02x}{blue:02x}"
    if line:
        return f'<path fill="none" stroke="{code}" stroke-width="{line:.2f}" d="{path}"/>'
    return f'<path fill="{code}" d="{path}"/>'
