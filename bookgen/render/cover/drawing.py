"""A drawing: flat, opaque shapes from the back to the front, in no file format.

Nothing is transparent and nothing is clipped, so that a printer who takes neither gets the same picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bookgen.render.cover.colour import Colour, mix

Point = tuple[float, float]

ROUND = 0.5523  # of a radius: where a quarter of a circle has its handles


@dataclass(frozen=True, slots=True)
class Box:
    """In pixels, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def center(self) -> Point:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def inset(self, across: float, down: float | None = None) -> Box:
        down = across if down is None else down
        return Box(self.left + across, self.top + down, self.right - across, self.bottom - down)


@dataclass(frozen=True, slots=True)
class DrawnShape:
    """`path` is SVG path data with absolute M, L, Q, C and Z. Filled, or drawn as a line of so many pixels."""

    path: str
    colour: Colour
    line: float = 0.0


@dataclass(frozen=True, slots=True)
class Lettering:
    """A text as outlines, above all shapes; its ink is read on `ground`.

    `box` is that of the ink; `height` that of its capitals, or of the letters where a script has none; `missing`
    counts the letters that no font has.
    """

    role: str
    path: str
    box: Box
    ink: Colour
    ground: Colour
    height: float
    missing: int


@dataclass(slots=True)
class Drawing:
    """In pixels."""

    width: float
    height: float
    shapes: list[DrawnShape] = field(default_factory=list)
    letterings: list[Lettering] = field(default_factory=list)

    @property
    def page(self) -> Box:
        return Box(0.0, 0.0, self.width, self.height)

    def fill(self, path: str, colour: Colour) -> None:
        self.shapes.append(DrawnShape(path, colour))

    def stroke(self, path: str, colour: Colour, line: float) -> None:
        self.shapes.append(DrawnShape(path, colour, line))

    def rectangle(self, box: Box, colour: Colour) -> None:
        self.fill(rectangle(box), colour)

    def frame(self, box: Box, colour: Colour, line: float) -> None:
        self.stroke(rectangle(box), colour, line)

    def polygon(self, points: Iterable[Point], colour: Colour) -> None:
        self.fill(polygon(points), colour)

    def circle(self, center: Point, radius: float, colour: Colour) -> None:
        self.fill(circle(center, radius), colour)

    def fade(self, box: Box, stops: Sequence[tuple[float, Colour]]) -> None:
        """From top to bottom through the stops, in steps too small to be seen, each a little over the one above."""
        steps = list(_steps(stops, box.height))
        ends = [top for top, _ in steps[1:]] + [box.height]
        for (top, shade), end in zip(steps, ends, strict=True):
            self.rectangle(Box(box.left, box.top + max(0.0, top - 1), box.right, box.top + end), shade)


def rectangle(box: Box) -> str:
    return polygon(((box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom)))


def polygon(points: Iterable[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"


def circle(center: Point, radius: float) -> str:
    (x, y), r, k = center, radius, radius * ROUND
    return (
        f"M{x + r:.1f} {y:.1f}C{x + r:.1f} {y + k:.1f} {x + k:.1f} {y + r:.1f} {x:.1f} {y + r:.1f}"
        f"C{x - k:.1f} {y + r:.1f} {x - r:.1f} {y + k:.1f} {x - r:.1f} {y:.1f}"
        f"C{x - r:.1f} {y - k:.1f} {x - k:.1f} {y - r:.1f} {x:.1f} {y - r:.1f}"
        f"C{x + k:.1f} {y - r:.1f} {x + r:.1f} {y - k:.1f} {x + r:.1f} {y:.1f}Z"
    )


def _steps(stops: Sequence[tuple[float, Colour]], height: float) -> Iterable[tuple[float, Colour]]:
    """Where each new shade begins, from 0 to the height."""
    last = None
    rows = max(1, round(height))
    for row in range(0, rows, 2):
        shade = _shade(stops, row / rows)
        if shade != last:
            yield float(row), shade
            last = shade


def _shade(stops: Sequence[tuple[float, Colour]], at: float) -> Colour:
    before = stops[0]
    for after in stops:
        if at < after[0]:
            return mix(before[1], after[1], (at - before[0]) / (after[0] - before[0]))
        before = after
    return before[1]
