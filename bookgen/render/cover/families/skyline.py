"""A town at night with a light in some of its windows."""

from __future__ import annotations

import random

from bookgen.render.cover.colour import Colour, mix
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.sheet import Sheet


def skyline(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(share=0.36, top=8, author="top", align=chance.choice((0, 0.5)))
    free, unit = placed.free, sheet.unit
    ground, (lamp, warm, cool, quiet) = palette.ground, palette.accents
    dusk = mix(ground, warm, 0.55)
    start = placed.head_bottom / page.bottom
    drawing.fade(page, [(0, ground), (start, mix(ground, quiet, 0.5)), (max(start + 0.05, 0.85), dusk), (1, dusk)])
    moon = min(page.width, free.height) * 0.13
    center = page.width * chance.uniform(0.2, 0.8), free.top + moon * 1.4
    drawing.circle(center, moon, mix(lamp, (255, 250, 235), 0.65))
    shades = (mix(dusk, cool, 0.35), mix(ground, cool, 0.3), mix(ground, (0, 0, 0), 0.45))
    for row, shade in enumerate(shades):
        roof = free.top + free.height * (0.24 + 0.2 * row)
        x = -chance.uniform(0, 8) * unit
        while x < page.right:
            wide = unit * chance.uniform(9, 17)
            top = roof + free.height * chance.uniform(0.0, 0.26)
            light = lamp if row else mix(shade, lamp, 0.4)
            _house(sheet, Box(x, top, x + wide, page.bottom), free.top, shade, light)
            x += wide + (unit * 0.4 if row < 2 else 0)
    sheet.letter(placed, (ground, mix(ground, quiet, 0.5)), author=lamp)


def _house(sheet: Sheet, box: Box, sky: float, shade: Colour, lamp: Colour) -> None:
    """Draw a house. Its roof does not rise above `sky`, the y where the title's area ends.

    Each house uses a random generator of its own. Its number of windows, which depends on the sheet's height, therefore
    does not change the houses after it.
    """
    drawing, unit = sheet.drawing, sheet.unit
    chance = random.Random(sheet.chance.random())
    drawing.rectangle(box, shade)
    match chance.randrange(5):
        case 0:
            ridge = box.center[0], max(sky, box.top - box.width * 0.4)
            drawing.polygon([(box.left, box.top), ridge, (box.right, box.top)], shade)
        case 1:
            mast = box.center[0]
            drawing.rectangle(Box(mast - unit * 0.2, max(sky, box.top - unit * 7), mast + unit * 0.2, box.top), shade)
        case 2:
            step = box.width * 0.22
            drawing.rectangle(Box(box.left + step, max(sky, box.top - unit * 3), box.right - step, box.top), shade)
    across = max(2, int(box.width / (unit * 3.4)))
    gap = box.width / across
    dark = mix(shade, (0, 0, 0), 0.22)
    for row in range(int((box.bottom - box.top) / (unit * 4.2))):
        y = box.top + unit * (2.4 + row * 4.2)
        for column in range(across):
            x = box.left + gap * (column + 0.5)
            lit = chance.random() < 0.22
            if lit or chance.random() < 0.5:
                drawing.rectangle(Box(x - unit * 0.6, y, x + unit * 0.6, y + unit * 2), lamp if lit else dark)
