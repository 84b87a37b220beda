"""A wall of tiles: quarter circles, discs, triangles and bars."""

from __future__ import annotations

from bookgen.render.cover.colour import Colour
from bookgen.render.cover.drawing import ROUND, Box
from bookgen.render.cover.sheet import Sheet


def tiles(sheet: Sheet) -> None:
    drawing, page, palette = sheet.drawing, sheet.page, sheet.palette
    placed = sheet.place(align=0, author="top", share=0.34)
    drawing.rectangle(page, palette.ground)
    columns = sheet.chance.choice((4, 4, 5))
    side = page.width / columns
    rows = int((page.bottom - placed.free.top) / side)
    for row in range(rows):
        for column in range(columns):
            left, bottom = column * side, page.bottom - row * side
            _tile(sheet, Box(left, bottom - side, left + side, bottom))
    sheet.letter(placed, author=palette.accents[1])


def _tile(sheet: Sheet, box: Box) -> None:
    drawing, chance, palette = sheet.drawing, sheet.chance, sheet.palette
    ground, first, second = chance.sample((*palette.accents, palette.ground, palette.ink), 3)
    drawing.rectangle(box, ground)
    side = box.width
    match chance.randrange(6):
        case 0:
            drawing.fill(quarter(box, chance.randrange(4), side), first)
        case 1:
            corner = chance.randrange(4)
            drawing.fill(quarter(box, corner, side), first)
            drawing.fill(quarter(box, corner, side / 2), second)
        case 2:
            drawing.circle(box.center, side * 0.38, first)
            drawing.circle(box.center, side * 0.15, second)
        case 3:
            corners = [(box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom)]
            del corners[chance.randrange(4)]
            drawing.polygon(corners, first)
        case 4:
            _bars(sheet, box, first)
        case _:
            corner = chance.randrange(2)
            drawing.fill(quarter(box, corner, side / 2), first)
            drawing.fill(quarter(box, corner + 2, side / 2), second)


def quarter(box: Box, corner: int, radius: float) -> str:
    """A quarter disc around a corner of the box, as SVG path data. Corners count clockwise from 0, the upper left."""
    x, y = ((box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom))[corner]
    across, down = ((1, 1), (-1, 1), (-1, -1), (1, -1))[corner]
    k = radius * ROUND
    return (
        f"M{x:.1f} {y:.1f}L{x + across * radius:.1f} {y:.1f}"
        f"C{x + across * radius:.1f} {y + down * k:.1f} {x + across * k:.1f} {y + down * radius:.1f} "
        f"{x:.1f} {y + down * radius:.1f}Z"
    )


def _bars(sheet: Sheet, box: Box, shade: Colour) -> None:
    upright = sheet.chance.random() < 0.5
    step = box.width / 6
    for at in range(0, 6, 2):
        if upright:
            bar = Box(box.left + at * step, box.top, box.left + (at + 1) * step, box.bottom)
        else:
            bar = Box(box.left, box.top + at * step, box.right, box.top + (at + 1) * step)
        sheet.drawing.rectangle(bar, shade)
