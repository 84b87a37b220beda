"""Stems with leaves and berries that grow from the foot of the sheet."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import Colour, mix
from bookgen.render.cover.drawing import Point
from bookgen.render.cover.sheet import Sheet


def botanical(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(share=0.32, author="top")
    drawing.rectangle(page, palette.ground)
    free = placed.free
    greens = [palette.accents[1], mix(palette.accents[1], palette.accents[3], 0.6), palette.accents[3]]
    count = chance.choice((5, 6, 7))
    order = sorted(range(count), key=lambda _: chance.random())
    for number in order:
        x = page.width * (0.1 + 0.8 * number / (count - 1))
        center = 1 - abs(number / (count - 1) - 0.5)
        tall = free.height * (0.5 + 0.45 * center) * chance.uniform(0.85, 1.0)
        _stem(sheet, (x, page.bottom + sheet.unit), tall, chance.uniform(-0.12, 0.12), greens[number % 3])
    sheet.letter(placed, author=palette.accents[0])


def _stem(sheet: Sheet, root: Point, tall: float, bend: float, shade: Colour) -> None:
    drawing, chance, unit, palette = sheet.drawing, sheet.chance, sheet.unit, sheet.palette
    points = [(root[0] + bend * tall * (at / 24) ** 2, root[1] - tall * at / 24) for at in range(25)]
    drawing.stroke("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), shade, unit * 0.5)
    pairs = max(4, int(tall / (unit * 9)))
    slim, berries = chance.uniform(0.26, 0.42), chance.random() < 0.35
    for number in range(1, pairs + 1):
        x, y = points[min(23, round(number / (pairs + 0.6) * 24))]
        size = unit * (13.5 - 7.0 * number / pairs)
        for side in (-1, 1):
            angle = -math.pi / 2 + side * (0.95 - 0.35 * number / pairs) + bend
            if berries and number % 2 == 0:
                end = x + math.cos(angle) * size * 0.55, y + math.sin(angle) * size * 0.55
                drawing.stroke(f"M{x:.1f} {y:.1f}L{end[0]:.1f} {end[1]:.1f}", shade, unit * 0.3)
                drawing.circle(end, unit * 1.5, palette.accents[0])
            else:
                _leaf(sheet, (x, y), angle, size, slim, shade)
    top = points[-1]
    if berries:
        drawing.circle(top, unit * 1.9, palette.accents[0])
    else:
        _leaf(sheet, top, -math.pi / 2 + bend * 2, unit * 7, slim, shade)


def _leaf(sheet: Sheet, base: Point, angle: float, size: float, slim: float, shade: Colour) -> None:
    """A leaf: two curves from the stem to the tip, and the rib between them."""
    along, out = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))

    def at(far: float, wide: float) -> str:
        x = base[0] + along[0] * far * size + out[0] * wide * size
        y = base[1] + along[1] * far * size + out[1] * wide * size
        return f"{x:.1f} {y:.1f}"

    sheet.drawing.fill(
        f"M{at(0, 0)}C{at(0.25, slim)} {at(0.7, slim * 0.9)} {at(1, 0)}"
        f"C{at(0.7, -slim * 0.9)} {at(0.25, -slim)} {at(0, 0)}Z",
        shade,
    )
    sheet.drawing.stroke(f"M{at(0.05, 0)}L{at(0.8, 0)}", mix(shade, sheet.palette.ground, 0.45), sheet.unit * 0.16)
