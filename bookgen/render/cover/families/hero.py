"""The hero of a picture book, large, in a setting from the story or on a disc. Two companions stand behind."""

from __future__ import annotations

import re
from dataclasses import replace

from bookgen.render.cover.colour import BLACK, TITLE_CONTRAST, WHITE, Colour, colour, contrast, mix
from bookgen.render.cover.drawing import Box, Drawing, DrawnShape
from bookgen.render.cover.sheet import Sheet
from bookgen.render.scenes import things
from bookgen.render.scenes.brush import Brush
from bookgen.render.scenes.figures import draw_figure, figure
from bookgen.render.scenes.scenery import HOURS, OUTDOORS, SCENE_SIDE, Hour, Scenery, hour_of
from bookgen.render.scenes.story_words import first_mentioned

_LIGHT, _NIGHT = colour("#fff3cf"), colour("#1c1440")
_POSES = ("wave", "walk", "jump")
_TALL = 128.0  # the height of a figure with ears or a hat, in the figure's units
_MIN_PLACE = 0.66  # of the sheet's width: with less height, a hill is drawn instead of a place
_PAIR = re.compile(r"(-?\d+(?:\.\d+)?) (-?\d+(?:\.\d+)?)")


def hero(sheet: Sheet) -> None:
    placed = sheet.place(share=0.34, top=7, author="top")
    hour = hour_of(sheet.subject.told, sheet.chance)
    shown = _legible(HOURS[(HOURS.index(hour) + sheet.variant // 2) % len(HOURS)])
    if sheet.variant % 2:
        _on_a_disc(sheet, placed.free, shown)
    else:
        _in_a_place(sheet, placed.free, shown)
    title = _LIGHT if contrast(_LIGHT, shown.top) >= TITLE_CONTRAST else sheet.palette.accents[1]
    sheet.letter(placed, (shown.top,), title=title, subtitle=title, author=title)


def _legible(hour: Hour) -> Hour:
    """The light of a time of day, with the top of its sky darkened until a light or a dark title is readable there."""
    shades = (replace(hour, top=mix(hour.top, _NIGHT, share / 20)) for share in range(21))
    ends = (_LIGHT, BLACK)
    return next(each for each in shades if max(contrast(end, each.top) for end in ends) >= TITLE_CONTRAST)


def _in_a_place(sheet: Sheet, free: Box, hour: Hour) -> None:
    drawing, page, chance, story_text = sheet.drawing, sheet.page, sheet.chance, sheet.subject.told
    start = free.top / page.height
    drawing.fade(page, [(0, hour.top), (start, hour.top), (start + (1 - start) * 0.6, hour.foot), (1, hour.foot)])
    scale = page.width / SCENE_SIDE
    size = min(scale, free.height / 1300)
    light = things.moon if hour.dark else things.sun
    light(Brush(drawing, page.width * chance.choice((0.14, 0.86)), free.top + 130 * size, size), hour.top)
    if free.height < _MIN_PLACE * page.width:
        _hill(sheet, free, hour)
    else:
        scene = Scenery(Drawing(SCENE_SIDE, SCENE_SIDE), hour, chance)
        paint = first_mentioned(story_text, OUTDOORS) or chance.choice(OUTDOORS[:4])[1]
        paint(scene)
        down = page.bottom - SCENE_SIDE * scale
        drawing.shapes += [_moved(shape, scale, down) for shape in scene.drawing.shapes]
    drawing.rectangle(Box(0, 0, page.right, free.top), hour.top)  # covers what reaches up to the title
    _figures(sheet, free, page.bottom - free.height * 0.06, mix(hour.lit(colour("#4b5a3a")), WHITE, 0.15))


def _hill(sheet: Sheet, free: Box, hour: Hour) -> None:
    """Draw two hills as a simple background, for covers where the title leaves too little room for a landscape."""
    wide, ground = sheet.page.width, hour.lit(colour("#7fbf63"))
    for x, up, shade in ((0.15, 0.34, mix(ground, hour.foot, 0.35)), (0.7, 0.26, ground)):
        hill = Brush(sheet.drawing, wide * x, sheet.page.bottom)
        hill.ellipse(0, 0, wide * 0.8, free.height * up, shade)


def _on_a_disc(sheet: Sheet, free: Box, hour: Hour) -> None:
    drawing, page = sheet.drawing, sheet.page
    drawing.rectangle(page, hour.top)
    radius = min(page.width * 0.43, free.height * 0.47)
    disc = mix(hour.foot, WHITE, 0.35)
    drawing.circle(free.center, radius * 1.06, mix(hour.top, disc, 0.45))
    drawing.circle(free.center, radius, disc)
    for at in range(12):
        x, y = sheet.chance.uniform(0.06, 0.94) * page.width, sheet.chance.uniform(0.06, 0.97) * free.height + free.top
        if (x - free.center[0]) ** 2 + (y - free.center[1]) ** 2 > (
            radius * 1.16
        ) ** 2 and y > free.top + 4 * sheet.unit:
            things.star(Brush(drawing, x, y, sheet.unit * (0.05 + 0.02 * (at % 3))), mix(hour.top, WHITE, 0.6))
    inner = Box(free.left, free.center[1] - radius * 0.92, free.right, free.center[1] + radius * 0.92)
    _figures(sheet, inner, free.center[1] + radius * 0.62, mix(disc, hour.top, 0.35), room=1.3)


def _figures(sheet: Sheet, free: Box, foot: float, shade: Colour, room: float = 1.0) -> None:
    """Draw the hero in the middle, with the feet at y `foot`, and up to two smaller companions on the sides.

    `shade`: the colour of the shadows on the ground. `room`: a greater value puts the companions closer to the hero.
    """
    cast = [figure(each) for each in sheet.subject.figures[:3]]
    width = sheet.page.width
    tall = min((foot - free.top) * 0.92, width * 0.66)
    for at, who in reversed(list(enumerate(cast))):
        share = 0.56 if at else 1.0
        x = width / 2 + (0, -1, 1)[at] * min(width * 0.3, tall * 0.62) / room
        y = foot - (tall * 0.03 if at else 0)
        scale = tall * share / (_TALL * who.size)
        Brush(sheet.drawing, x, y + 2, scale).ellipse(0, 0, 34, 5, shade)
        pose = "stand" if at else _POSES[sheet.variant % 3]
        draw_figure(Brush(sheet.drawing, x, y, scale, flip=at == 2), who, pose)


def _moved(shape: DrawnShape, scale: float, down: float) -> DrawnShape:
    """A copy of the shape, scaled by `scale` and moved down by `down` pixels."""

    def placed(pair: re.Match[str]) -> str:
        return f"{float(pair[1]) * scale:.1f} {float(pair[2]) * scale + down:.1f}"

    return replace(shape, path=_PAIR.sub(placed, shape.path), line=shape.line * scale)
