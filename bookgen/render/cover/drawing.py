"""A drawing as flat, opaque shapes from back to front, independent of any file format.

Nothing is transparent or clipped, since some printers accept neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bookgen.render.cover.colour import Colour, mix

Point = tuple[float, float]

ROUND = 0.5523  # the length of the Bézier handles of a quarter circle, as a share of the radius


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, with y downwards."""

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
    """A filled shape, or an outline if its width `line` is not 0. `path`: SVG path data, absolute M, L, Q, C and Z."""

    path: str
    colour: Colour
    line: float = 0.0


@dataclass(frozen=True, slots=True)
class Lettering:
    """A text as outlines, drawn above all shapes.

    `ground` is the colour behind the text, and `box` encloses the text. `height` is the height of its capitals in
    pixels, or of its letters if the script has no capitals. `missing` is the number of letters that no font has.
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
    """A drawing of `width` by `height` pixels."""

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
        """Fill the box with a vertical gradient, as bands too narrow to see. Each band overlaps the band above it.

        `stops`: heights as shares of the box, from 0 at the top to 1 at the bottom, and the colour at each.
        """
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
    """The bands of a gradient with these stops: the y at which each begins, from 0 to `height`, and its colour."""
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
