"""A sun that rises over the edge of the sheet."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.sheet import Sheet


def rays(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(author="top", share=0.36, top=7)
    free = placed.free
    first, second, third, quiet = palette.accents
    drawing.rectangle(page, palette.ground)
    center = page.width / 2, page.bottom - free.height * 0.1
    reach = math.hypot(page.width, page.height)
    count = chance.choice((15, 17, 19))
    shades = (mix(palette.ground, quiet, 0.8), mix(palette.ground, third, 0.55))
    for number in range(count):
        start, end = (math.pi * (1 + each / count) for each in (number, number + 1))
        drawing.polygon(
            [center, *((center[0] + reach * math.cos(at), center[1] + reach * math.sin(at)) for at in (start, end))],
            shades[number % 2],
        )
    for radius, shade in ((0.52, third), (0.42, second), (0.31, first), (0.19, mix(first, (255, 248, 225), 0.6))):
        drawing.circle(center, min(page.width, free.height) * radius, shade)
    drawing.rectangle(Box(0, center[1], page.right, page.bottom), palette.ink if not palette.dark else quiet)
    wave = (page.bottom - center[1]) / 4
    for number in range(1, 4):
        y = center[1] + number * wave
        half = page.width * (0.34 - 0.08 * number)
        shade = first if number % 2 else third
        drawing.rectangle(Box(center[0] - half, y, center[0] + half, y + wave * 0.3), shade)
    drawing.rectangle(Box(0, 0, page.right, free.top), palette.ground)
    drawing.rectangle(Box(0, free.top - sheet.unit * 0.5, page.right, free.top), palette.ink)
    sheet.letter(placed)
