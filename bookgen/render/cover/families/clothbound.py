"""A cloth binding: a repeated motif, and a label."""

from __future__ import annotations

from bookgen.render.cover.colour import Colour, mix
from bookgen.render.cover.drawing import Box, Point
from bookgen.render.cover.sheet import Sheet


def clothbound(sheet: Sheet) -> None:
    drawing, page, palette, unit = sheet.drawing, sheet.page, sheet.palette, sheet.unit
    drawing.rectangle(page, palette.ground)
    quiet = mix(palette.ground, palette.accents[0], 0.75)
    across = sheet.chance.choice((6, 7, 8))
    step = page.width / across
    motif = sheet.chance.choice((_sprig, _star, _ogee))
    for row in range(-1, int(page.height / (step * 0.72)) + 2):
        for column in range(-1, across + 1):
            center = (column + 0.5 + (row % 2) * 0.5) * step, row * step * 0.72
            motif(sheet, center, step * 0.46, quiet)
    zone = page.inset(20 * unit, 16 * unit)
    placed = sheet.stack(zone, share=0.44)
    half = (placed.author_top - placed.head_top) / 2 + 15 * unit
    middle = page.height / 2
    top, bottom = max(middle - half, 6 * unit), min(middle + half, page.bottom - 6 * unit)
    panel = Box(11 * unit, top, page.right - 11 * unit, bottom)
    label = palette.ink if palette.dark else mix(palette.ground, (255, 255, 255), 0.6)
    ink = palette.ground if palette.dark else palette.ink
    drawing.rectangle(panel, label)
    drawing.frame(panel.inset(1.6 * unit), ink, 0.5 * unit)
    drawing.frame(panel.inset(2.7 * unit), ink, 0.14 * unit)
    sheet.letter(placed, (label,), title=ink, subtitle=ink, author=palette.accents[1])


def _sprig(sheet: Sheet, center: Point, size: float, shade: Colour) -> None:
    """Three leaves on a stalk."""
    x, y = center
    foot, side, out = y + size * 0.1, y - size * 0.3, size * 0.24
    for lean in (-0.75, 0.0, 0.75):
        tip_x, tip_y, near = x + lean * size, y - size * (0.85 - 0.35 * abs(lean)), x + lean * size * 0.2
        sheet.drawing.fill(
            f"M{x:.1f} {foot:.1f}"
            f"C{near - out:.1f} {side:.1f} {tip_x - out * 0.6:.1f} {tip_y + out:.1f} {tip_x:.1f} {tip_y:.1f}"
            f"C{tip_x + out * 0.6:.1f} {tip_y + out:.1f} {near + out:.1f} {side:.1f} {x:.1f} {foot:.1f}Z",
            shade,
        )
    sheet.drawing.stroke(f"M{x:.1f} {y:.1f}L{x:.1f} {y + size * 0.6:.1f}", shade, size * 0.07)


def _star(sheet: Sheet, center: Point, size: float, shade: Colour) -> None:
    """A star with four points and concave sides, and a dot."""
    x, y = center
    reach, waist = size * 0.72, size * 0.12
    sheet.drawing.fill(
        f"M{x:.1f} {y - reach:.1f}Q{x + waist:.1f} {y - waist:.1f} {x + reach:.1f} {y:.1f}"
        f"Q{x + waist:.1f} {y + waist:.1f} {x:.1f} {y + reach:.1f}"
        f"Q{x - waist:.1f} {y + waist:.1f} {x - reach:.1f} {y:.1f}"
        f"Q{x - waist:.1f} {y - waist:.1f} {x:.1f} {y - reach:.1f}Z",
        shade,
    )
    sheet.drawing.circle((x + size, y), size * 0.09, shade)


def _ogee(sheet: Sheet, center: Point, size: float, shade: Colour) -> None:
    """An ogee: an onion shape within a larger one."""
    x, y = center
    for share, own in ((0.98, shade), (0.8, sheet.palette.ground), (0.5, shade)):
        reach, half, neck = size * share, size * share * 0.5, size * share * 0.15
        left, right, top, foot = x - reach, x + reach, y - reach, y + reach
        sheet.drawing.fill(
            f"M{x:.1f} {top:.1f}C{x + neck:.1f} {y - half:.1f} {right:.1f} {y - half:.1f} {right:.1f} {y:.1f}"
            f"C{right:.1f} {y + half:.1f} {x + neck:.1f} {y + half:.1f} {x:.1f} {foot:.1f}"
            f"C{x - neck:.1f} {y + half:.1f} {left:.1f} {y + half:.1f} {left:.1f} {y:.1f}"
            f"C{left:.1f} {y - half:.1f} {x - neck:.1f} {y - half:.1f} {x:.1f} {top:.1f}Z",
            own,
        )
