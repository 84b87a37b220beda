"""The contour lines of an imaginary map."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box, Point, polygon
from bookgen.render.cover.sheet import Sheet

_LINES = 26


def contours(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(align=0, share=0.34, margin=9)
    free = placed.free
    field = mix(palette.ground, palette.accents[3], 0.35)
    drawing.rectangle(page, field)
    summit = page.width * chance.uniform(0.35, 0.7), free.top + free.height * chance.uniform(0.4, 0.6)
    waves = [(chance.uniform(0.05, 0.16) / order, order, chance.uniform(0, 6.28)) for order in (1, 2, 3, 5)]
    spread = math.hypot(page.width, free.height) * 0.85
    for number in range(_LINES, 0, -1):
        share = number / _LINES
        ring = polygon(_ring(summit, spread * share, waves, share))
        if number in (3, 7):
            drawing.fill(ring, palette.accents[0] if number == 3 else mix(field, palette.accents[0], 0.55))
        line = mix(field, palette.ink, 0.75 if number % 5 == 0 else 0.42)
        drawing.stroke(ring, line, sheet.unit * (0.34 if number % 5 == 0 else 0.16))
    drawing.rectangle(Box(0, 0, page.right, free.top), palette.ground)
    drawing.rectangle(Box(0, free.bottom, page.right, page.bottom), palette.ground)
    for edge in (free.top, free.bottom):
        drawing.rectangle(Box(0, edge - sheet.unit * 0.3, page.right, edge + sheet.unit * 0.3), palette.accents[0])
    sheet.letter(placed, subtitle=mix(palette.ink, palette.ground, 0.15))


def _ring(center: Point, radius: float, waves: list[tuple[float, int, float]], share: float) -> list[Point]:
    """The points of a contour line. Lines are rounder near the summit and rotate slowly on the way down.

    `share`: the line's place, from 0 at the summit to 1 at the foot. `waves` bend the line: each has its height as a
    share of the radius, its number of crests around the line, and its phase in radians.
    """
    points = []
    for at in range(0, 360, 3):
        angle = math.radians(at)
        swell = (size * (0.6 + share) * math.sin(order * angle + phase + share * 1.4) for size, order, phase in waves)
        away = radius * (1 + sum(swell))
        points.append((center[0] + away * math.cos(angle) * 1.1, center[1] + away * math.sin(angle)))
    return points
