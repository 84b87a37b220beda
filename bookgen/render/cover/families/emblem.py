"""One object from the book, large, on a disc. The mood decides what surrounds it."""

from __future__ import annotations

import math

from bookgen.render.cover.colour import Colour, mix, readable
from bookgen.render.cover.drawing import Point, circle
from bookgen.render.cover.motifs import DRAW, Tones
from bookgen.render.cover.sheet import Sheet
from bookgen.render.scenes.brush import Brush

_SEEN = 2.2  # the least contrast between the object and its disc


def emblem(sheet: Sheet) -> None:
    drawing, page, palette = sheet.drawing, sheet.page, sheet.palette
    placed = sheet.place(share=0.34, top=9)
    drawing.rectangle(page, palette.ground)
    free = placed.free
    first, second, third, quiet = palette.accents
    radius = min(free.height * 0.46, page.width * 0.36)
    disc = mix(palette.ground, quiet, 0.85) if palette.dark else mix(quiet, palette.ground, 0.25)
    _surround(sheet, free.center, radius, mix(palette.ground, first, 0.55))
    drawing.circle(free.center, radius, disc)
    drawing.stroke(circle(free.center, radius * 0.93), mix(disc, palette.ink, 0.55), sheet.unit * 0.3)
    tones = Tones(
        main=readable(first, disc, _SEEN),
        second=readable(palette.ink if palette.dark else third, disc, _SEEN),
        line=readable(second if palette.dark else palette.ink, disc, _SEEN),
        ground=disc,
    )
    DRAW[sheet.subject.motif](Brush(drawing, *free.center, radius * 0.014), tones)
    sheet.letter(placed, author=first)


def _surround(sheet: Sheet, center: Point, radius: float, shade: Colour) -> None:
    """Draw what is around the disc, between it and a circle of 1.2 times its radius."""
    drawing, unit = sheet.drawing, sheet.unit

    def at(angle: float, far: float) -> Point:
        return center[0] + far * radius * math.sin(angle), center[1] - far * radius * math.cos(angle)

    match sheet.subject.mood:
        case "tense":
            for number in range(36):
                angle, half = number * math.tau / 36, math.tau / 220
                drawing.polygon(
                    [at(angle - half, 1.0), at(angle, 1.08 if number % 2 else 1.19), at(angle + half, 1.0)], shade
                )
        case "playful":
            for number in range(24):
                drawing.circle(at(number * math.tau / 24, 1.12), unit * (1.5 if number % 2 else 0.8), shade)
        case "solemn":
            for far, line in ((1.05, 0.7), (1.1, 0.2)):
                drawing.stroke(circle(center, radius * far), shade, unit * line)
        case "warm":
            for far, share in ((1.19, 0.25), (1.12, 0.5), (1.05, 0.8)):
                drawing.circle(center, radius * far, mix(sheet.palette.ground, shade, share))
        case "wild":
            for number in range(20):
                leaf, tip = number * math.tau / 20, (number + 0.6) * math.tau / 20
                drawing.polygon([at(leaf, 1.03), at(leaf + 0.13, 1.06), at(tip, 1.18), at(leaf + 0.02, 1.12)], shade)
        case "clear":
            for number in range(60):
                long = number % 5 == 0
                start, end = at(number * math.tau / 60, 1.06), at(number * math.tau / 60, 1.15 if long else 1.1)
                tick = f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
                drawing.stroke(tick, shade, unit * (0.5 if long else 0.25))
        case _:
            for far in (1.06, 1.12, 1.18):
                drawing.stroke(circle(center, radius * far), shade, unit * 0.25)
