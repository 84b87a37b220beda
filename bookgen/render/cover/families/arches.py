"""A row of arches, one behind another, with a light behind the last."""

from __future__ import annotations

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import ROUND, Box
from bookgen.render.cover.sheet import Sheet

_DOORS = 7


def arches(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(share=0.34, author="top")
    drawing.rectangle(page, palette.ground)
    free = placed.free
    light = mix(palette.accents[0], (255, 246, 220), 0.55)
    outer = palette.accents[3] if palette.dark else palette.accents[1]
    wide = min(page.width * 0.84, free.height * 0.86)
    drift = chance.uniform(-0.012, 0.012) * page.width
    for number in range(_DOORS):
        share = number / (_DOORS - 1)
        half = wide / 2 * (1 - 0.76 * share)
        center = page.width / 2 + drift * number
        top = free.top + free.height * (0.02 + 0.3 * share)
        shade = mix(mix(outer, palette.accents[1], min(1.0, share * 1.5)), light, share**1.4)
        drawing.fill(_door(Box(center - half, top, center + half, page.bottom + 10)), shade)
    center = page.width / 2 + drift * (_DOORS - 1)
    tall = free.height * 0.13
    floor = page.bottom - free.height * 0.12
    far, near, foot = wide * 0.12, wide * 0.3, page.bottom + 1
    drawing.polygon([(center - far, floor), (center + far, floor), (center + near, foot), (center - near, foot)], light)
    _figure(sheet, center, floor + tall * 0.2, tall)
    sheet.letter(placed, author=palette.accents[0])


def _door(box: Box) -> str:
    half = box.width / 2
    k = half * ROUND
    spring = box.top + half
    return (
        f"M{box.left:.1f} {box.bottom:.1f}L{box.left:.1f} {spring:.1f}"
        f"C{box.left:.1f} {spring - k:.1f} {box.center[0] - k:.1f} {box.top:.1f} {box.center[0]:.1f} {box.top:.1f}"
        f"C{box.center[0] + k:.1f} {box.top:.1f} {box.right:.1f} {spring - k:.1f} {box.right:.1f} {spring:.1f}"
        f"L{box.right:.1f} {box.bottom:.1f}Z"
    )


def _figure(sheet: Sheet, x: float, foot: float, tall: float) -> None:
    """A person in a long coat."""
    dark = mix(sheet.palette.accents[1], (0, 0, 0), 0.72)
    head = tall * 0.085
    sheet.drawing.circle((x, foot - tall + head), head, dark)
    shoulder, hem = tall * 0.13, tall * 0.2
    neck, waist = foot - tall * 0.85, foot - tall * 0.5
    sheet.drawing.fill(
        f"M{x:.1f} {neck:.1f}C{x + shoulder:.1f} {neck:.1f} {x + shoulder:.1f} {waist:.1f} {x + hem:.1f} {foot:.1f}"
        f"L{x - hem:.1f} {foot:.1f}C{x - shoulder:.1f} {waist:.1f} {x - shoulder:.1f} {neck:.1f} {x:.1f} {neck:.1f}Z",
        dark,
    )
