"""Single objects for covers. Each function draws one in flat shapes, within 50 units of the brush's origin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bookgen.render.cover.colour import Colour
from bookgen.render.cover.drawing import Point
from bookgen.render.scenes.brush import Brush


@dataclass(frozen=True, slots=True)
class Tones:
    """An object's colours: `main` for most of it, `second` for details, `line` for lines, `ground` behind it."""

    main: Colour
    second: Colour
    line: Colour
    ground: Colour


def _bar(brush: Brush, left: float, low: float, right: float, high: float, of: Colour) -> None:
    brush.polygon(((left, low), (right, low), (right, high), (left, high)), of)


def _straight(brush: Brush, points: tuple[Point, ...], of: Colour, width: float) -> None:
    curves = [(start, end, end) for start, end in itertools.pairwise(points)]
    brush.line(points[0], curves, of, width)


def _spikes(radius: float, inner: float, count: int) -> list[Point]:
    angles = [math.pi / 2 + at * math.pi / count for at in range(2 * count)]
    return [
        ((radius, inner)[at % 2] * math.cos(angle), (radius, inner)[at % 2] * math.sin(angle))
        for at, angle in enumerate(angles)
    ]


def anchor(brush: Brush, of: Tones) -> None:
    brush.circle(0, 38, 10, of.main)
    brush.circle(0, 38, 4.5, of.ground)
    _straight(brush, ((0, 28), (0, -38)), of.main, 8)
    _straight(brush, ((-20, 16), (20, 16)), of.main, 7)
    brush.line((-38, -12), [((-34, -34), (-18, -42), (0, -42)), ((18, -42), (34, -34), (38, -12))], of.main, 8)
    for side in (-1, 1):
        brush.polygon(((side * 50, -14), (side * 26, -14), (side * 40, 6)), of.main)


def apple(brush: Brush, of: Tones) -> None:
    brush.soft(((0, 20), (26, 28), (40, 6), (26, -36), (0, -40), (-26, -36), (-40, 6), (-26, 28)), of.main)
    brush.line((0, 18), [((0, 28), (4, 38), (10, 44))], of.line, 4.5)
    brush.ellipse(22, 38, 15, 6.5, of.second, turn=-0.5)


def bell(brush: Brush, of: Tones) -> None:
    brush.circle(0, -38, 8.5, of.second)
    brush.shape(
        (-40, -30),
        [((-22, -18), (-32, 34), (0, 36)), ((32, 34), (22, -18), (40, -30)), ((14, -34), (-14, -34), (-40, -30))],
        of.main,
    )
    brush.circle(0, 41, 7, of.main)
    brush.line((-27, -14), [((-9, -18), (9, -18), (27, -14))], of.second, 3.5)


def bird(brush: Brush, of: Tones) -> None:
    brush.shape((-8, -2), [((-40, 6), (-48, 26), (-46, 48)), ((-30, 30), (8, 30), (14, 4))], of.second)
    brush.shape(
        (46, 8),
        [((36, 22), (20, 18), (12, 6)), ((-10, 2), (-30, -6), (-48, -32)), ((-20, -30), (24, -34), (34, 0))],
        of.main,
    )
    brush.shape((4, 4), [((-12, 30), (-22, 40), (-14, 50)), ((14, 40), (24, 18), (20, -2))], of.line)
    brush.circle(33, 9, 2.4, of.ground)


def boat(brush: Brush, of: Tones) -> None:
    _straight(brush, ((0, -18), (0, 46)), of.line, 3.5)
    brush.polygon(((5, -12), (42, -12), (5, 44)), of.main)
    brush.polygon(((-5, -12), (-32, -12), (-5, 34)), of.second)
    brush.polygon(((-46, -18), (46, -18), (30, -38), (-30, -38)), of.line)


def book(brush: Brush, of: Tones) -> None:
    for side in (-1, 1):
        brush.shape((0, 28), [((side * 14, 38), (side * 32, 38), (side * 48, 32)),
                              ((side * 48, 12), (side * 48, -12), (side * 48, -32)),
                              ((side * 32, -26), (side * 14, -26), (0, -36))],
                    of.main if side < 0 else of.second)  # fmt: skip
        for at in range(3):
            y = 18 - at * 14
            brush.line((side * 9, y), [((side * 18, y + 4), (side * 28, y + 5), (side * 38, y + 3))], of.ground, 2.4)
    _straight(brush, ((0, 28), (0, -36)), of.line, 3)


def bottle(brush: Brush, of: Tones) -> None:
    _bar(brush, -7, 30, 7, 48, of.line)
    _bar(brush, -9, 14, 9, 34, of.main)
    brush.soft(((-20, 4), (0, 18), (20, 4), (22, -44), (0, -48), (-22, -44)), of.main)
    _bar(brush, -22, -28, 22, -4, of.second)


def bridge(brush: Brush, of: Tones) -> None:
    brush.shape((-50, 6), [((-20, 24), (20, 24), (50, 6)), ((50, -8), (50, -18), (50, -26)),
                           ((20, -26), (-20, -26), (-50, -26)), ((-50, -18), (-50, -8), (-50, 6))],
                of.main)  # fmt: skip
    brush.line((-50, 11), [((-20, 29), (20, 29), (50, 11))], of.line, 4)
    for x in (-22, 22):
        brush.circle(x, -14, 17, of.ground)
        _bar(brush, x - 17, -30, x + 17, -14, of.ground)
    for y in (-33, -42):
        brush.line((-46, y), [((-16, y + 6), (16, y - 6), (46, y))], of.second, 3.5)


def candle(brush: Brush, of: Tones) -> None:
    brush.shape((0, 48), [((12, 34), (12, 20), (0, 19)), ((-12, 20), (-12, 34), (0, 48))], of.second)
    _straight(brush, ((0, 23), (0, 14)), of.line, 2.2)
    _bar(brush, -11, -32, 11, 14, of.main)
    brush.soft(((-11, 14), (-4, 6), (-9, -6)), of.ground)
    _bar(brush, -28, -40, 28, -32, of.line)


def clock(brush: Brush, of: Tones) -> None:
    brush.circle(0, 0, 46, of.main)
    brush.circle(0, 0, 38, of.ground)
    for at in range(12):
        brush.circle(
            31 * math.sin(at * math.pi / 6), 31 * math.cos(at * math.pi / 6), 3.4 if at % 3 == 0 else 1.8, of.main
        )
    _straight(brush, ((0, 0), (-14, 14)), of.line, 5)
    _straight(brush, ((0, 0), (5, 27)), of.line, 3.6)
    brush.circle(0, 0, 5, of.second)


def compass(brush: Brush, of: Tones) -> None:
    brush.circle(0, 0, 46, of.main)
    brush.circle(0, 0, 38, of.ground)
    for at in range(8):
        brush.circle(33 * math.sin(at * math.pi / 4), 33 * math.cos(at * math.pi / 4), 2.4, of.main)
    for end, shade in (((18, 24), of.second), ((-18, -24), of.line)):
        brush.polygon((end, (8, -6), (-8, 6)), shade)
    brush.circle(0, 0, 3.2, of.ground)


def crown(brush: Brush, of: Tones) -> None:
    brush.polygon(((-40, -30), (40, -30), (46, 22), (22, 0), (0, 36), (-22, 0), (-46, 22)), of.main)
    _bar(brush, -40, -38, 40, -26, of.second)
    for x, y in ((-46, 25), (0, 40), (46, 25)):
        brush.circle(x, y, 6, of.second)


def cup(brush: Brush, of: Tones) -> None:
    brush.circle(30, -4, 17, of.main)
    brush.circle(30, -4, 9, of.ground)
    brush.shape((-34, 16), [((-34, -16), (-22, -30), (0, -30)), ((22, -30), (34, -16), (34, 16))], of.main)
    _bar(brush, -42, -40, 42, -33, of.second)
    for x in (-14, 6):
        brush.line((x, 24), [((x - 9, 32), (x + 9, 38), (x, 47))], of.line, 3.4)


def dam(brush: Brush, of: Tones) -> None:
    _bar(brush, -50, 12, 50, 30, of.second)
    for x in (-26, 8):
        brush.line((x, 22), [((x + 6, 26), (x + 12, 18), (x + 18, 22))], of.ground, 2)
    _bar(brush, -50, -44, 50, 10, of.main)
    for y in (-4, -18, -32):
        _bar(brush, -50, y - 1, 50, y + 1, of.ground)
    for side in (-1, 1):
        brush.polygon(((side * 50, 44), (side * 50, -46), (side * 12, -46), (side * 30, 4), (side * 38, 30)), of.line)


def door(brush: Brush, of: Tones) -> None:
    _bar(brush, -30, -48, 30, 48, of.line)
    _bar(brush, -24, -48, 24, 43, of.main)
    for low, high in ((-38, -6), (4, 34)):
        _bar(brush, -16, low, -3, high, of.second)
        _bar(brush, 3, low, 16, high, of.second)
    brush.circle(19, -2, 3.2, of.ground)


def feather(brush: Brush, of: Tones) -> None:
    quill = brush.at(0, 0, turn=0.6)
    quill.shape((0, 50), [((26, 26), (20, -14), (2, -28)), ((-20, -14), (-24, 26), (0, 50))], of.main)
    for y in (-10, 6, 22):
        quill.polygon(((0, y - 4), (18, y + 8), (19, y + 4)), of.ground)
    _straight(quill, ((0, 44), (0, -50)), of.second, 2.6)


def fish(brush: Brush, of: Tones) -> None:
    brush.polygon(((18, 0), (48, 24), (42, 0), (48, -24)), of.second)
    brush.shape((-48, 0), [((-24, 34), (12, 28), (30, 0)), ((12, -28), (-24, -34), (-48, 0))], of.main)
    brush.line((-22, 17), [((-15, 8), (-15, -8), (-22, -17))], of.ground, 2.6)
    brush.circle(-33, 5, 3.4, of.ground)


def flame(brush: Brush, of: Tones) -> None:
    brush.shape(
        (4, 50),
        [((6, 26), (36, 14), (34, -14)), ((32, -40), (14, -48), (0, -48)), ((-18, -48), (-34, -36), (-34, -14)),
         ((-34, 2), (-24, 8), (-20, 22)), ((-6, 14), (8, 28), (4, 50))],
        of.main,
    )  # fmt: skip
    brush.shape((2, 8), [((6, -4), (18, -14), (16, -26)), ((12, -44), (-14, -44), (-16, -26)),
                         ((-16, -14), (0, -8), (2, 8))], of.second)  # fmt: skip


def flower(brush: Brush, of: Tones) -> None:
    brush.line((0, 8), [((6, -14), (-4, -30), (0, -50))], of.line, 4)
    brush.ellipse(15, -30, 16, 6, of.line, turn=-0.6)
    brush.ellipse(-14, -22, 14, 5.5, of.line, turn=0.6)
    for at in range(8):
        angle = at * math.tau / 8
        brush.ellipse(19 * math.cos(angle), 18 + 19 * math.sin(angle), 13, 7.5, of.main, turn=-angle)
    brush.circle(0, 18, 10, of.second)


def gear(brush: Brush, of: Tones) -> None:
    for at in range(8):
        _bar(brush.at(0, 0, turn=at * math.pi / 4), -8, 28, 8, 48, of.main)
    brush.circle(0, 0, 36, of.main)
    brush.circle(0, 0, 19, of.second)
    brush.circle(0, 0, 10, of.ground)


def hammer(brush: Brush, of: Tones) -> None:
    turned = brush.at(0, 0, turn=-0.6)
    _bar(turned, -5, -50, 5, 30, of.second)
    _bar(turned, -24, 20, 16, 42, of.main)
    turned.polygon(((10, 20), (16, 22), (40, 34), (38, 40), (16, 42), (10, 42)), of.main)


def heart(brush: Brush, of: Tones) -> None:
    brush.shape((0, -42), [((-14, -24), (-46, -8), (-44, 16)), ((-42, 44), (-8, 46), (0, 20)),
                           ((8, 46), (42, 44), (44, 16)), ((46, -8), (14, -24), (0, -42))], of.main)  # fmt: skip
    brush.line((-30, 18), [((-30, 26), (-24, 31), (-18, 31))], of.second, 4)


def hourglass(brush: Brush, of: Tones) -> None:
    for side in (-1, 1):
        _bar(brush, -30, side * 44 - 4, 30, side * 44 + 4, of.line)
        brush.shape((-24, side * 40), [((-24, side * 20), (-4, side * 10), (-3, 0)), ((0, 0), (0, 0), (3, 0)),
                                       ((4, side * 10), (24, side * 20), (24, side * 40))], of.main)  # fmt: skip
    brush.polygon(((-13, 18), (13, 18), (0, 2)), of.second)
    brush.polygon(((-19, -38), (19, -38), (0, -18)), of.second)


def house(brush: Brush, of: Tones) -> None:
    _bar(brush, 16, 10, 26, 44, of.line)
    _bar(brush, -34, -44, 34, 8, of.main)
    brush.polygon(((-46, 4), (46, 4), (0, 42)), of.line)
    _bar(brush, -8, -44, 8, -14, of.ground)
    for x in (-22, 22):
        _bar(brush, x - 7, -19, x + 7, -3, of.second)


def key(brush: Brush, of: Tones) -> None:
    turned = brush.at(0, 0, turn=0.7)
    turned.circle(0, 32, 18, of.main)
    turned.circle(0, 32, 9, of.ground)
    _bar(turned, -4.5, -50, 4.5, 18, of.main)
    _bar(turned, 4, -50, 20, -42, of.main)
    _bar(turned, 4, -35, 15, -28, of.main)
    _bar(turned, -8, 8, 8, 13, of.second)


def knife(brush: Brush, of: Tones) -> None:
    turned = brush.at(0, 0, turn=0.75)
    turned.shape((-9, -14), [((-9, 10), (-9, 36), (-7, 54)), ((10, 36), (14, 8), (13, -14))], of.main)
    turned.line((8, -10), [((8, 8), (5, 26), (-1, 40))], of.ground, 1.6)
    _bar(turned, -10, -19, 10, -13, of.line)
    turned.soft(((-9, -19), (5, -19), (6, -38), (10, -52), (-6, -54), (-9, -38)), of.second)
    for y in (-27, -37, -46):
        turned.circle(-1, y, 1.9, of.ground)


def lantern(brush: Brush, of: Tones) -> None:
    brush.line((-16, 26), [((-14, 54), (14, 54), (16, 26))], of.line, 4)
    brush.polygon(((-24, 18), (24, 18), (14, 30), (-14, 30)), of.line)
    brush.polygon(((-20, 18), (20, 18), (24, -36), (-24, -36)), of.main)
    brush.shape((0, 8), [((11, -6), (11, -22), (0, -26)), ((-11, -22), (-11, -6), (0, 8))], of.second)
    _bar(brush, -30, -45, 30, -36, of.line)


def letter(brush: Brush, of: Tones) -> None:
    _bar(brush, -46, -31, 46, 31, of.main)
    _straight(brush, ((-45, -30), (-8, 2)), of.line, 2.4)
    _straight(brush, ((45, -30), (8, 2)), of.line, 2.4)
    brush.polygon(((-46, 31), (46, 31), (0, -8)), of.second)
    brush.circle(0, -6, 8, of.line)


def lighthouse(brush: Brush, of: Tones) -> None:
    for side in (-1, 1):
        brush.polygon(((side * 10, 29), (side * 50, 40), (side * 50, 16)), of.second)
    brush.polygon(((-11, 20), (11, 20), (19, -40), (-19, -40)), of.main)
    for low, wide in ((-28, 17.4), (-4, 14.2)):
        brush.polygon(((-wide, low), (wide, low), (wide - 1.6, low + 12), (1.6 - wide, low + 12)), of.line)
    _bar(brush, -15, 17, 15, 22, of.line)
    _bar(brush, -8, 22, 8, 36, of.second)
    brush.polygon(((-12, 36), (12, 36), (0, 48)), of.line)
    brush.soft(((-42, -42), (0, -34), (42, -42), (30, -50), (-30, -50)), of.line)


def loaf(brush: Brush, of: Tones) -> None:
    brush.soft(((-46, -18), (-36, 16), (0, 28), (36, 16), (46, -18), (28, -28), (-28, -28)), of.main)
    for x in (-24, 0, 24):
        brush.line((x - 5, 18 - abs(x) * 0.2), [((x + 4, 10), (x + 4, 2), (x - 1, -6))], of.second, 5)


def moon(brush: Brush, of: Tones) -> None:
    brush.shape((14, 44), [((-60, 44), (-60, -44), (14, -44)), ((-22, -26), (-22, 26), (14, 44))], of.main)
    for x, y, size in ((18, 8, 9), (36, -18, 5.5), (38, 28, 4)):
        brush.at(x, y).polygon(_spikes(size, size * 0.4, 4), of.second)


def mountain(brush: Brush, of: Tones) -> None:
    brush.circle(22, 30, 11, of.second)
    brush.polygon(((-2, -34), (50, -34), (26, 10)), of.line)
    brush.polygon(((-50, -34), (28, -34), (-10, 36)), of.main)
    brush.polygon(((-10, 36), (-21, 15.5), (-12, 20), (-7, 11), (-1, 19)), of.ground)


def pencil(brush: Brush, of: Tones) -> None:
    turned = brush.at(0, 0, turn=0.75)
    _bar(turned, -10, -26, 10, 36, of.main)
    _bar(turned, -3, -26, 3, 36, of.second)
    _bar(turned, -10, 36, 10, 42, of.line)
    turned.soft(((-10, 42), (10, 42), (9, 51), (-9, 51)), of.second)
    turned.polygon(((-10, -26), (10, -26), (0, -52)), of.second)
    turned.polygon(((-4, -42), (4, -42), (0, -52)), of.line)


def scales(brush: Brush, of: Tones) -> None:
    _straight(brush, ((0, -38), (0, 38)), of.main, 5)
    _bar(brush, -24, -46, 24, -38, of.main)
    _straight(brush, ((-36, 28), (36, 34)), of.main, 5)
    brush.circle(0, 42, 6, of.second)
    for x, y in ((-36, 28), (36, 34)):
        for side in (-1, 1):
            _straight(brush, ((x, y), (x + side * 13, y - 34)), of.line, 1.8)
        brush.shape((x - 16, y - 34), [((x - 12, y - 50), (x + 12, y - 50), (x + 16, y - 34))], of.second)


def star(brush: Brush, of: Tones) -> None:
    brush.polygon(_spikes(48, 19, 5), of.main)
    brush.polygon(_spikes(20, 8, 5), of.second)


def sun(brush: Brush, of: Tones) -> None:
    brush.polygon(_spikes(50, 33, 14), of.second)
    brush.circle(0, 0, 28, of.main)


def sword(brush: Brush, of: Tones) -> None:
    turned = brush.at(0, 0, turn=0.6)
    turned.polygon(((-6, -20), (6, -20), (6, 42), (0, 54), (-6, 42)), of.main)
    _straight(turned, ((0, -18), (0, 38)), of.ground, 1.6)
    _bar(turned, -22, -26, 22, -19, of.second)
    _bar(turned, -4, -44, 4, -26, of.line)
    turned.circle(0, -48, 6.5, of.second)


def tree(brush: Brush, of: Tones) -> None:
    brush.polygon(((-7, -48), (7, -48), (4, 0), (-4, 0)), of.line)
    for side in (-1, 1):
        _straight(brush, ((0, -18), (side * 16, -2)), of.line, 4)
    for x, y, size in ((-22, 4, 20), (22, 6, 20), (0, 24, 25), (0, 4, 20)):
        brush.circle(x, y, size, of.main)
    for x, y, size in ((-14, 22, 7), (12, 30, 6), (24, 8, 6)):
        brush.circle(x, y, size, of.second)


def umbrella(brush: Brush, of: Tones) -> None:
    brush.line((0, 10), [((0, -20), (0, -30), (0, -36)), ((0, -50), (18, -50), (18, -36))], of.line, 4)
    brush.shape((-48, 4), [((-44, 56), (44, 56), (48, 4)), ((40, 12), (24, 12), (16, 4)), ((8, 12), (-8, 12), (-16, 4)),
                           ((-24, 12), (-40, 12), (-48, 4))], of.main)  # fmt: skip
    brush.shape((-16, 4), [((-12, 30), (-6, 42), (0, 43)), ((6, 42), (12, 30), (16, 4)), ((8, 12), (-8, 12), (-16, 4))],
                of.second)  # fmt: skip
    _straight(brush, ((0, 42), (0, 49)), of.line, 3)


def wave(brush: Brush, of: Tones) -> None:
    for at, shade in enumerate((of.main, of.second, of.line)):
        y = 24 - at * 24
        brush.line((-46, y), [((-34, y + 20), (-24, y + 20), (-15, y)), ((-6, y - 18), (4, y - 18), (15, y)),
                              ((26, y + 20), (36, y + 20), (46, y))], shade, 9)  # fmt: skip


DRAW: Mapping[str, Callable[[Brush, Tones], None]] = {
    draw.__name__: draw
    for draw in (
        anchor, apple, bell, bird, boat, book, bottle, bridge, candle, clock, compass, crown, cup, dam, door, feather,
        fish, flame, flower, gear, hammer, heart, hourglass, house, key, knife, lantern, letter, lighthouse, loaf,
        moon, mountain, pencil, scales, star, sun, sword, tree, umbrella, wave,
    )
}  # fmt: skip
