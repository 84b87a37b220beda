"""The title itself is the picture."""

from __future__ import annotations

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.sheet import Sheet


def poster(sheet: Sheet) -> None:
    drawing, page, palette, unit = sheet.drawing, sheet.page, sheet.palette, sheet.unit
    placed = sheet.place(share=0.74, largest=0.42, align=0, margin=6, top=11, foot=5.5)
    drawing.rectangle(page, palette.ground)
    first, second, _, _ = palette.accents
    drawing.rectangle(Box(0, 0, page.right, 6.5 * unit), first)
    if placed.free.height > 14 * unit:
        bottom = placed.free.bottom - 2 * unit
        count = min(6, int((bottom - placed.free.top) / (7 * unit)))
        for number in range(count):
            thick = unit * (3.2 - 0.45 * number)
            top = bottom - number * 7 * unit - thick
            left = 0.0 if number % 2 == sheet.chance.randrange(2) else page.width * 0.07
            drawing.rectangle(Box(left, top, page.right, top + thick), mix(first, second, number / 5))
    sheet.letter(placed, author=second)
