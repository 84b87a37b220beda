"""A brush draws shapes given in a figure's own units: moved, scaled, mirrored and rotated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bookgen.render.cover.colour import Colour
from bookgen.render.cover.drawing import ROUND, Drawing, Point


@dataclass(frozen=True, slots=True)
class Brush:
    """Draws with the origin at (x, y) and y upwards. `scale`: pixels per unit. `flip`: mirror left and right."""

    drawing: Drawing
    x: float
    y: float
    scale: float = 1.0
    flip: bool = False
    turn: float = 0.0  # radians, clockwise

    def at(self, x: float, y: float, scale: float = 1.0, turn: float = 0.0) -> Brush:
        """A brush whose origin is at (x, y) in the coordinates of this brush."""
        left, top = self.place((x, y))
        own = -turn if self.flip else turn
        return replace(self, x=left, y=top, scale=self.scale * scale, turn=self.turn + own)

    def place(self, point: Point) -> Point:
        across, up = (-point[0] if self.flip else point[0]), point[1]
        cos, sin = math.cos(self.turn), math.sin(self.turn)
        return (
            self.x + (across * cos + up * sin) * self.scale,
            self.y + (across * sin - up * cos) * self.scale,
        )

    def ellipse(self, x: float, y: float, wide: float, tall: float, colour: Colour, turn: float = 0.0) -> None:
        """Draw an ellipse. `wide` and `tall` are half its width and height."""
        brush = self.at(x, y, turn=turn)
        k = ROUND
        curves = [
            ((wide, tall * k), (wide * k, tall), (0, tall)),
            ((-wide * k, tall), (-wide, tall * k), (-wide, 0)),
            ((-wide, -tall * k), (-wide * k, -tall), (0, -tall)),
            ((wide * k, -tall), (wide, -tall * k), (wide, 0)),
        ]
        self.drawing.fill(brush._path((wide, 0), curves) + "Z", colour)

    def circle(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self.ellipse(x, y, radius, radius, colour)

    def polygon(self, points: Iterable[Point], colour: Colour) -> None:
        self.drawing.polygon((self.place(point) for point in points), colour)

    def shape(self, start: Point, curves: Sequence[tuple[Point, Point, Point]], colour: Colour) -> None:
        """Fill an outline of Bézier curves, each given as two control points and an end point."""
        self.drawing.fill(self._path(start, curves) + "Z", colour)

    def line(self, start: Point, curves: Sequence[tuple[Point, Point, Point]], colour: Colour, width: float) -> None:
        """Draw a line of Bézier curves (as in `shape`) with round ends."""
        self.drawing.stroke(self._path(start, curves), colour, width * self.scale)
        for end in (start, curves[-1][2]):
            self.circle(*end, width / 2, colour)

    def soft(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a smooth outline through the points."""
        count = len(points)
        curves = []
        for at in range(count):
            before, here, there, after = (points[(at + step) % count] for step in (-1, 0, 1, 2))
            first = here[0] + (there[0] - before[0]) / 6, here[1] + (there[1] - before[1]) / 6
            second = there[0] - (after[0] - here[0]) / 6, there[1] - (after[1] - here[1]) / 6
            curves.append((first, second, there))
        self.shape(points[0], curves, colour)

    def _path(self, start: Point, curves: Sequence[tuple[Point, Point, Point]]) -> str:
        first = "M{:.1f} {:.1f}".format(*self.place(start))
        return first + "".join("C" + " ".join("{:.1f} {:.1f}".format(*self.place(p)) for p in each) for each in curves)
