"""A planet, its moons, and the stars behind them."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import ROUND, Point, circle
from bookgen.render.cover.sheet import Sheet


def constellation(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(share=0.3, top=9, margin=9)
    free, unit = placed.free, sheet.unit
    deep = mix(palette.ground, (0, 0, 0), 0.45)
    drawing.fade(page, [(0, deep), (0.5, palette.ground), (1, deep)])
    center = page.width * chance.uniform(0.42, 0.58), (free.top + free.bottom) / 2
    reach = min(free.height / 2, page.width * 0.6)
    for _ in range(150):
        star = chance.uniform(0, page.width), chance.uniform(free.top, free.bottom)
        drawing.circle(star, unit * chance.choice((0.09, 0.12, 0.16, 0.26)), mix(palette.ground, palette.ink, 0.75))
    faint = mix(palette.ground, palette.accents[2], 0.75)
    orbits = [0.5, 0.68, 0.84, 0.98]
    for number, share in enumerate(orbits):
        drawing.stroke(circle(center, reach * share), faint, unit * (0.3 if number == 1 else 0.16))
    radius = reach * 0.34
    drawing.circle(center, radius, palette.accents[0])
    for number, shade in enumerate((mix(palette.accents[0], palette.accents[1], 0.6), palette.accents[1])):
        drawing.fill(_crescent(center, radius, 0.55 - 0.55 * number), shade)
    for share, size in zip(orbits, (0.07, 0.045, 0.1, 0.05), strict=True):
        angle = chance.uniform(0, 2 * math.pi)
        place = center[0] + reach * share * math.cos(angle), center[1] + reach * share * math.sin(angle)
        if not unit * 6 < place[0] < page.right - unit * 6:
            place = 2 * center[0] - place[0], place[1]
        moon = reach * size
        drawing.circle(place, moon * 1.5, palette.ground)
        drawing.circle(place, moon, palette.ink if share < 0.9 else palette.accents[2])
        drawing.fill(_crescent(place, moon, 0.2), mix(palette.accents[2], palette.ground, 0.35))
    sheet.letter(placed, (palette.ground, deep), author_ground=deep, author=palette.accents[0])


def _crescent(center: Point, radius: float, inner: float) -> str:
    """The shaded right side of a ball, as SVG path data.

    `inner` is at least 0 and less than 1: 0 shades exactly half of the ball, and a greater value shades less.
    """
    (x, y), k = center, radius * ROUND
    bend = radius * inner
    return (
        f"M{x:.1f} {y - radius:.1f}C{x + k:.1f} {y - radius:.1f} {x + radius:.1f} {y - k:.1f} {x + radius:.1f} {y:.1f}"
        f"C{x + radius:.1f} {y + k:.1f} {x + k:.1f} {y + radius:.1f} {x:.1f} {y + radius:.1f}"
        f"C{x + bend:.1f} {y + k:.1f} {x + bend:.1f} {y - k:.1f} {x:.1f} {y - radius:.1f}Z"
    )
