"""A few large, plain shapes in balance, and the title aligned to one side."""

from __future__ import annotations

from bookgen.render.cover.drawing import Box
from bookgen.render.cover.families.tiles import quarter
from bookgen.render.cover.sheet import Sheet


def swiss(sheet: Sheet) -> None:
    drawing, page, palette, chance = sheet.drawing, sheet.page, sheet.palette, sheet.chance
    head = chance.choice(("top", "foot"))
    placed = sheet.place(align=0, head=head, author="foot" if head == "top" else "top", share=0.4, margin=7)
    drawing.rectangle(page, palette.ground)
    free = placed.free
    first, second, third, quiet = palette.accents
    mirrored = chance.random() < 0.5
    side = min(free.height, page.width * 0.94)

    def across(share: float) -> float:
        return page.width * (1 - share if mirrored else share)

    middle = (free.top + free.bottom) / 2
    match chance.randrange(3):
        case 0:
            radius = side * 0.47
            drawing.circle((across(0.52), middle), radius, first)
            drawing.circle((across(0.52) + radius * 0.42, middle - radius * 0.42), radius * 0.4, second)
            drawing.rectangle(Box(0, middle + radius * 0.32, page.right, middle + radius * 0.4), palette.ink)
        case 1:
            half = side / 2
            left = page.width / 2 - half
            top = middle - half
            drawing.fill(quarter(Box(left, top, left + half, top + half), 2, half), first)
            drawing.fill(quarter(Box(left + half, top, left + side, top + half), 0, half), second)
            drawing.fill(quarter(Box(left, top + half, left + half, top + side), 1, half), third)
            drawing.rectangle(Box(left + half, top + half, left + side, top + side), quiet)
            drawing.circle((left + half * 1.5, top + half * 1.5), half * 0.3, palette.ink)
        case _:
            bar = free.height / 7
            lengths = [0.86, 0.6, 0.74, 0.38]
            chance.shuffle(lengths)
            for number, (long, shade) in enumerate(zip(lengths, (first, second, third, quiet), strict=True)):
                top = free.top + bar * (0.3 + number * 1.6)
                start, end = sorted((across(0.0), across(long)))
                drawing.rectangle(Box(start, top, end, top + bar), shade)
                drawing.circle((across(long), top + bar / 2), bar / 2, shade)
    sheet.letter(placed, author=second)
