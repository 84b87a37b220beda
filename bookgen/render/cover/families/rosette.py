"""A rosette engraved in gold, in a ruled frame."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import ROUND, Box, Point, polygon
from bookgen.render.cover.sheet import Sheet

_RINGS = 8


def rosette(sheet: Sheet) -> None:
    drawing, page, unit, palette = sheet.drawing, sheet.page, sheet.unit, sheet.palette
    placed = sheet.place(margin=13, top=15, foot=13, share=0.3)
    gold = palette.accents[0]
    light = mix(gold, (255, 250, 225), 0.45)
    drawing.fade(page, [(0, mix(palette.ground, (255, 255, 255), 0.05)), (1, mix(palette.ground, (0, 0, 0), 0.25))])
    for inset, line in ((5.5, 0.45), (6.9, 0.12), (7.6, 0.12)):
        drawing.frame(page.inset(inset * unit), gold, line * unit)
    _corners(sheet, page.inset(7.6 * unit))
    radius = min(placed.free.height / 2, page.width * 0.36)
    if radius > 6 * unit:
        _rosette(sheet, placed.free.center, radius)
    ground = mix(palette.ground, (255, 255, 255), 0.05)
    sheet.letter(placed, (ground, palette.ground), title=light, subtitle=palette.ink, author=light)


def _corners(sheet: Sheet, box: Box) -> None:
    gold, unit = sheet.palette.accents[0], sheet.unit
    for x, y in ((box.left, box.top), (box.right, box.top), (box.left, box.bottom), (box.right, box.bottom)):
        inward_x, inward_y = math.copysign(1, box.center[0] - x), math.copysign(1, box.center[1] - y)
        for radius in (6.0 * unit, 4.6 * unit):
            far_x, far_y = x + inward_x * radius, y + inward_y * radius
            bend_x, bend_y = x + inward_x * radius * ROUND, y + inward_y * radius * ROUND
            arc = f"M{far_x:.1f} {y:.1f}C{far_x:.1f} {bend_y:.1f} {bend_x:.1f} {far_y:.1f} {x:.1f} {far_y:.1f}"
            sheet.drawing.stroke(arc, gold, 0.14 * unit)
        sheet.drawing.circle((x + inward_x * 2.2 * unit, y + inward_y * 2.2 * unit), 0.8 * unit, gold)


def _rosette(sheet: Sheet, center: Point, radius: float) -> None:
    drawing, gold, unit = sheet.drawing, sheet.palette.accents[0], sheet.unit
    petals = sheet.chance.choice((8, 10, 12))
    lobes = sheet.chance.choice((0.2, 0.35, 0.5))
    for ring in range(_RINGS):
        middle = radius * (0.22 + 0.07 * ring)
        swing = radius * (0.028 + 0.009 * ring)
        for side in (1, -1):
            points = []
            for at in range(361):
                angle = math.radians(at)
                away = middle + side * swing * math.sin(petals * angle) + swing * lobes * math.cos(2 * petals * angle)
                points.append((center[0] + away * math.sin(angle), center[1] - away * math.cos(angle)))
            drawing.stroke(polygon(points), gold, 0.13 * unit)
    for at in range(36):
        angle = math.radians(at * 10)
        long = at % 3 == 0
        inner, outer = radius * 0.87, radius * (0.985 if long else 0.94)
        start = center[0] + inner * math.cos(angle), center[1] + inner * math.sin(angle)
        end = center[0] + outer * math.cos(angle), center[1] + outer * math.sin(angle)
        drawing.stroke(f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}", gold, 0.16 * unit)
        drawing.circle(end, (0.75 if long else 0.4) * unit, gold)
    drawing.circle(center, radius * 0.06, gold)
