"""Colours and drawings in the four inks of a press."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookgen.render.cover.colour import Colour
from bookgen.render.cover.drawing import Drawing

_SEGMENTS = re.compile(r"([MLQCZ])([^MLQCZ]*)")


def inks(colour: Colour) -> str:
    """Shares of cyan, magenta, yellow and black: black takes what the three share, so that all stay under 200 %."""
    shares = [1 - value / 255 for value in colour]
    black = min(shares)
    return " ".join(f"{share:.3f}" for share in (*(share - black for share in shares), black))


def rgb(colour: Colour) -> str:
    """Shares of red, green and blue."""
    return " ".join(f"{value / 255:.3f}" for value in colour)


def operators(drawing: Drawing, x: float, y: float, scale: float) -> Iterator[str]:
    """The drawing with its lower left corner at (x, y), so many points a pixel; its own heights count downwards."""
    yield f"q {scale:.5f} 0 0 {-scale:.5f} {x:.2f} {y + drawing.height * scale:.2f} cm"
    for shape in drawing.shapes:
        if shape.line:
            yield f"{inks(shape.colour)} K {shape.line:.2f} w {_path(shape.path)} S"
        else:
            yield f"{inks(shape.colour)} k {_path(shape.path)} f"
    for lettering in drawing.letterings:
        yield f"{inks(lettering.ink)} k {_path(lettering.path)} f"
    yield "Q"


def _path(path: str) -> str:
    """SVG's path data as PDF's, whose curves are all cubic."""
    out: list[str] = []
    x = y = 0.0
    for command, text in _SEGMENTS.findall(path):
        numbers = [float(number) for number in text.split()]
        if command == "Z":
            out.append("h")
        elif command in "ML":
            out.append(f"{text} {command.lower()}")
        elif command == "C":
            out.append(f"{text} c")
        for at in range(0, len(numbers) if command == "Q" else 0, 4):
            left, top, right, end = numbers[at : at + 4]
            curve = [x + (left - x) * 2 / 3, y + (top - y) * 2 / 3]
            curve += [right + (left - right) * 2 / 3, end + (top - end) * 2 / 3, right, end]
            out.append(" ".join(f"{number:.2f}" for number in curve) + " c")
            x, y = right, end
        if numbers:
            x, y = numbers[-2:]
    return " ".join(out)
