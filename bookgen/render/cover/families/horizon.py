"""Ridges behind one another under a low sun."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.sheet import Sheet

_RIDGES = 6


def horizon(sheet: Sheet) -> None:
    placed = sheet.place(share=0.34, top=9)
    drawing, page, chance = sheet.drawing, sheet.page, sheet.chance
    ground, (warm, deep, _, _) = sheet.palette.ground, sheet.palette.accents
    free = placed.free
    skyline = free.top + free.height * 0.38
    glow = mix(warm, (255, 240, 215), 0.25)
    low = mix(ground, deep, 0.25)
    drawing.fade(
        Box(0, 0, page.right, page.bottom),
        [(0, ground), (placed.head_bottom / page.bottom, low), (min(0.97, skyline / page.bottom), glow), (1, glow)],
    )
    radius = min(page.width * 0.13, free.height * 0.17)  # small enough for the halo to stay below the title
    center = page.width * chance.uniform(0.3, 0.7), skyline - radius * 0.25
    for ring, share in ((1.9, 0.16), (1.45, 0.34)):
        drawing.circle(center, radius * ring, mix(mix(low, glow, 0.8), (255, 244, 222), share * 0.6))
    drawing.circle(center, radius, (255, 246, 226))
    near = mix(ground, (0, 0, 0), 0.35)
    for number in range(_RIDGES):
        share = number / (_RIDGES - 1)
        base = skyline + (page.bottom - skyline) * (0.05 + 0.62 * share**1.1)
        height = (page.bottom - skyline) * (0.09 + 0.09 * share)
        shade = mix(mix(glow, deep, 0.35 + 0.5 * share), near, share**0.8)
        lowest = placed.author_top - 2 * sheet.unit if number == _RIDGES - 1 else page.bottom
        drawing.polygon(_ridge(sheet, base, height, lowest), shade)
    sheet.letter(placed, (ground, low), author_ground=near, subtitle=mix(sheet.palette.ink, ground, 0.1))


def _ridge(sheet: Sheet, base: float, height: float, lowest: float) -> list[tuple[float, float]]:
    """The points of a polygon: a wavy ridge from edge to edge, and everything below it down to the foot of the page.

    `base`: the ridge's mean y. `height`: the size of its waves. A ridge with valleys below the y `lowest` is raised.
    """
    page, chance = sheet.page, sheet.chance
    waves = [(1.75**-octave, 1.7**octave * chance.uniform(0.7, 1.3), chance.uniform(0, 6.28)) for octave in range(6)]
    step = page.width / 160
    line = [
        (at * step, base - height * sum(size * math.sin(at / 160 * 6.28 * pace + phase) for size, pace, phase in waves))
        for at in range(161)
    ]
    sunk = max(0.0, max(y for _, y in line) - lowest)
    line = [(x, y - sunk) for x, y in line]
    return [*line, (page.right, page.bottom), (0.0, page.bottom)]
