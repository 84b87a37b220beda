"""Stones balanced on one another over still water."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box, Point, polygon
from bookgen.render.cover.sheet import Sheet


def pebbles(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(share=0.34, top=9)
    drawing.rectangle(page, palette.ground)
    free, unit = placed.free, sheet.unit
    water = free.top + free.height * 0.78
    sea = mix(palette.ground, palette.accents[3], 0.55)
    drawing.rectangle(Box(0, water, page.right, page.bottom), sea)
    count = chance.choice((4, 5))
    tall = (water - free.top) * 0.94 / (count * 0.86)
    shades = [
        *palette.accents[:3],
        mix(palette.accents[1], palette.ink, 0.4),
        mix(palette.accents[3], palette.ink, 0.3),
    ]
    chance.shuffle(shades)
    y = water
    for number in range(count):
        height = tall * (1.05 - 0.1 * number)
        half = min(page.width * 0.36, height * chance.uniform(1.0, 1.25)) * (1 - 0.13 * number)
        center = page.width / 2 + chance.uniform(-0.025, 0.025) * page.width, y - height * 0.44
        stone = _stone(center, half, height / 2, chance.uniform(0, 6.28))
        if not number:
            drawing.polygon([(px, water + (water - py) * 0.42) for px, py in stone], mix(sea, shades[0], 0.35))
        drawing.fill(polygon(stone), shades[number % len(shades)])
        y -= height * 0.86
    for number in range(5):
        half = page.width * chance.uniform(0.08, 0.2)
        x = page.width * chance.uniform(0.2, 0.8)
        top = water + (free.bottom - water) * (0.2 + 0.18 * number)
        drawing.rectangle(Box(x - half, top, x + half, top + unit * 0.35), mix(sea, palette.ground, 0.7))
    sheet.letter(placed, author_ground=sea)


def _stone(center: Point, half: float, tall: float, phase: float) -> list[Point]:
    points = []
    for at in range(0, 360, 4):
        angle = math.radians(at)
        swell = 1 + 0.035 * math.sin(2 * angle + phase) + 0.02 * math.sin(3 * angle - phase)
        across, down = math.cos(angle), math.sin(angle)
        square = (abs(across) ** 2.5 + abs(down) ** 2.5) ** (-1 / 2.5)
        points.append((center[0] + half * square * across * swell, center[1] + tall * square * down * swell))
    return points
