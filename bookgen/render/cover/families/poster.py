"""A poster: the title is the picture, with coloured bands in one of three arrangements."""

from __future__ import annotations

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.sheet import PlacedTexts, Sheet

_BAND, _HALF_BAND = 6.5, 3.0  # units


def poster(sheet: Sheet) -> None:
    drawing, page, palette, unit = sheet.drawing, sheet.page, sheet.palette, sheet.unit
    first, second, _, _ = palette.accents
    drawing.rectangle(page, palette.ground)
    match sheet.variant % 3:
        case 0:
            placed = sheet.place(share=0.74, largest=0.42, align=0, margin=6, top=11, foot=5.5)
            drawing.rectangle(Box(0, 0, page.right, _BAND * unit), first)
        case 1:
            placed = sheet.place(
                share=0.74, largest=0.42, align=0, margin=6, top=5.5, foot=11, head="foot", author="top"
            )
            drawing.rectangle(Box(0, page.bottom - _BAND * unit, page.right, page.bottom), first)
        case _:
            placed = sheet.place(share=0.74, largest=0.42, margin=6, top=8, foot=8)
            drawing.rectangle(Box(0, 0, page.right, _HALF_BAND * unit), first)
            drawing.rectangle(Box(0, page.bottom - _HALF_BAND * unit, page.right, page.bottom), second)
    if placed.free.height > 14 * unit:
        _bars(sheet, placed)
    sheet.letter(placed, author=second)


def _bars(sheet: Sheet, placed: PlacedTexts) -> None:
    """Draw bars that get thinner towards the title."""
    drawing, page, unit = sheet.drawing, sheet.page, sheet.unit
    first, second, _, _ = sheet.palette.accents
    bottom = placed.free.bottom - 2 * unit
    count = min(6, int((bottom - placed.free.top) / (7 * unit)))
    for number in range(count):
        thick = unit * (3.2 - 0.45 * number)
        top = bottom - number * 7 * unit - thick
        left = 0.0 if number % 2 == sheet.chance.randrange(2) else page.width * 0.07
        drawing.rectangle(Box(left, top, page.right, top + thick), mix(first, second, number / 5))
