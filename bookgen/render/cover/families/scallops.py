"""A pattern of scalloped waves, as printed on cloth."""

from __future__ import annotations

from bookgen.render.cover.colour import mix
from bookgen.render.cover.drawing import Box
from bookgen.render.cover.sheet import Sheet


def scallops(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    placed = sheet.place(share=0.34)
    drawing.rectangle(page, palette.ground)
    across = chance.choice((3, 4))
    radius = page.width / across / 2
    free = placed.free
    rings = [palette.ink, palette.accents[1], palette.ground, palette.accents[0], palette.accents[2]]
    rows = int((free.height - radius) / (radius / 2))
    top = free.bottom - rows * radius / 2 - radius * 0.1
    lucky = {(chance.randrange(max(rows, 1)), chance.randrange(across)) for _ in range(3)}
    for row in range(max(rows, 0)):
        y = top + (row + 1) * radius / 2 + radius * 0.5
        for column in range(-1, across + 1):
            x = (2 * column + 1 + row % 2) * radius
            odd = (row, column) in lucky
            for number, shade in enumerate(rings):
                own = mix(shade, palette.accents[0], 0.9) if odd and number in (0, 2) else shade
                drawing.circle((x, y), radius * (1 - number * 0.2), own)
    drawing.rectangle(Box(0, free.bottom, page.right, page.bottom), palette.ground)
    drawing.rectangle(Box(0, free.bottom, page.right, free.bottom + sheet.unit * 0.5), palette.accents[0])
    sheet.letter(placed)
