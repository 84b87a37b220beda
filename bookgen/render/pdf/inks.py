"""Colours and drawings as PDF operators, in CMYK for print or in RGB for screens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookgen.render.cover.colour import Colour
from bookgen.render.cover.drawing import Drawing

_SEGMENTS = re.compile(r"([MLQCZ])([^MLQCZ]*)")
_OPERATORS = {"M": "m", "L": "l", "C": "c", "Z": "h"}


def inks(colour: Colour) -> str:
    """The colour in CMYK as PDF operands: shares of cyan, magenta, yellow and black from 0 to 1.

    Black replaces the part that the other three have in common, so the sum is at most 200 %.
    """
    shares = [1 - value / 255 for value in colour]
    black = min(shares)
    return " ".join(f"{share:.3f}" for share in (*(share - black for share in shares), black))


def rgb(colour: Colour) -> str:
    """The colour as PDF operands: shares of red, green and blue from 0 to 1."""
    return " ".join(f"{value / 255:.3f}" for value in colour)


def operators(drawing: Drawing, x: float, y: float, scale: float, *, for_screen: bool = False) -> Iterator[str]:
    """The drawing as PDF operators, with its lower left corner at (x, y). `scale`: points per pixel."""
    shares, fill, stroke = (rgb, "rg", "RG") if for_screen else (inks, "k", "K")
    yield f"q {scale:.5f} 0 0 {-scale:.5f} {x:.2f} {y + drawing.height * scale:.2f} cm"
    for shape in drawing.shapes:
        if shape.line:
            yield f"{shares(shape.colour)} {stroke} {shape.line:.2f} w {_path(shape.path)} S"
        else:
            yield f"{shares(shape.colour)} {fill} {_path(shape.path)} f"
    for lettering in drawing.letterings:
        yield f"{shares(lettering.ink)} {fill} {_path(lettering.path)} f"
    yield "Q"


def _path(path: str) -> str:
    """SVG path data as PDF path operators. PDF only has cubic curves."""
    out: list[str] = []
    before = ""
    for command, text in _SEGMENTS.findall(path):
        if command == "Q":
            out += _cubics(before, text)
        else:
            out.append(f"{text} {_OPERATORS[command]}")
        before = text or before
    return " ".join(out)


def _cubics(before: str, text: str) -> Iterator[str]:
    """Convert quadratic curves to PDF operators for cubic curves.

    `text`: the curves' coordinates from SVG path data. `before`: the coordinates of the path so far, which end at the
    point where the first curve starts.
    """
    x, y = map(float, before.split()[-2:])
    numbers = map(float, text.split())
    for left, top, right, end in zip(numbers, numbers, numbers, numbers, strict=True):
        near, far = (x + left * 2) / 3, (right + left * 2) / 3
        yield f"{near:.2f} {(y + top * 2) / 3:.2f} {far:.2f} {(end + top * 2) / 3:.2f} {right:.1f} {end:.1f} c"
        x, y = right, end
