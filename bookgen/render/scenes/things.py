"""Things in a story. Each function draws one with its foot (or its middle, if it flies) at the brush's origin."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from bookgen.render.cover.colour import WHITE, Colour, colour, mix
from bookgen.render.scenes.brush import Brush

Lit = Callable[[Colour], Colour]
BARK, LEAF, FIR = colour("#8a6343"), colour("#63a552"), colour("#3f7d5a")


def sun(brush: Brush, sky: Colour) -> None:
    warm = colour("#ffd35c")
    for at in range(3, 0, -1):
        brush.circle(0, 0, 52 + at * 22, mix(sky, warm, 0.34 - at * 0.08))
    brush.circle(0, 0, 52, warm)


def moon(brush: Brush, sky: Colour) -> None:
    pale = colour("#fdf0c2")
    for at in range(3, 0, -1):
        brush.circle(0, 0, 52 + at * 22, mix(sky, pale, 0.2 - at * 0.05))
    brush.circle(0, 0, 52, pale)
    for x, y, size in ((-16, 14, 10), (18, -12, 13), (10, 24, 6)):
        brush.circle(x, y, size, mix(pale, colour("#d9c68e"), 0.5))


def star(brush: Brush, of: Colour) -> None:
    points = []
    for at in range(10):
        angle, far = math.pi / 2 + at * math.pi / 5, 30 if at % 2 == 0 else 13
        points.append((far * math.cos(angle), far * math.sin(angle)))
    brush.polygon(points, of)


def cloud(brush: Brush, of: Colour) -> None:
    for x, y, wide, tall in ((-48, 0, 40, 26), (0, 14, 50, 38), (50, 2, 42, 28)):
        brush.ellipse(x, y, wide, tall, of)
    brush.ellipse(0, -10, 92, 18, of)


def tree(brush: Brush, lit: Lit) -> None:
    brush.polygon(((-14, 0), (14, 0), (9, 110), (-9, 110)), lit(BARK))
    for x, y, size in ((-42, 130, 48), (42, 134, 46), (0, 180, 58), (0, 120, 50)):
        brush.circle(x, y, size, lit(LEAF))
    for x, y, size in ((-22, 190, 20), (26, 150, 16), (-46, 140, 14)):
        brush.circle(x, y, size, lit(mix(LEAF, WHITE, 0.16)))


def fir(brush: Brush, lit: Lit) -> None:
    brush.polygon(((-5, 0), (5, 0), (5, 20), (-5, 20)), lit(BARK))
    for at in range(3):
        wide, foot = 36 - at * 9, 14 + at * 30
        brush.polygon(((-wide, foot), (wide, foot), (0, foot + 50)), lit(mix(FIR, WHITE, at * 0.06)))


def flower(brush: Brush, lit: Lit, chance: random.Random) -> None:
    petal = lit(colour(chance.choice(("#f06a6a", "#f7c948", "#ffffff", "#b58ad6", "#f59ab5"))))
    brush.line((0, 0), [((3, 12), (-2, 24), (0, 34))], lit(colour("#4f8f49")), 3.2)
    brush.ellipse(8, 12, 8, 3.4, lit(colour("#5a9d52")), turn=-0.5)
    for at in range(5):
        angle = at * math.tau / 5
        brush.circle(8 * math.cos(angle), 38 + 8 * math.sin(angle), 6.2, petal)
    brush.circle(0, 38, 5, lit(colour("#f2b13a")))


def mushroom(brush: Brush, lit: Lit, chance: random.Random) -> None:
    brush.soft(((-8, 0), (8, 0), (6, 24), (-6, 24)), lit(colour("#f5ead7")))
    cap = lit(colour(chance.choice(("#d84a3b", "#c9833f"))))
    brush.shape((-24, 20), [((-24, 48), (24, 48), (24, 20)), ((10, 15), (-10, 15), (-24, 20))], cap)
    for x, y in ((-11, 28), (4, 34), (13, 25)):
        brush.circle(x, y, 3.4, lit(WHITE))


def shell(brush: Brush, lit: Lit, chance: random.Random) -> None:
    pale = lit(colour(chance.choice(("#f7b8a6", "#ffffff", "#f3d0e0"))))
    if chance.random() < 0.4:
        star(brush.at(0, 10, 0.6, chance.uniform(0, 1)), lit(colour("#f08a5b")))
        return
    brush.shape((-16, 0), [((-20, 26), (20, 26), (16, 0)), ((6, -5), (-6, -5), (-16, 0))], pale)
    for x in (-7, 0, 7):
        brush.line((x * 0.4, -1), [((x, 6), (x, 10), (x * 1.2, 15))], mix(pale, colour("#a86a5a"), 0.3), 1.6)


def boat(brush: Brush, lit: Lit) -> None:
    brush.polygon(((-3, 20), (3, 20), (3, 150), (-3, 150)), lit(BARK))
    brush.polygon(((8, 34), (78, 34), (8, 146)), lit(colour("#fdf4e3")))
    brush.polygon(((-8, 34), (-54, 34), (-8, 122)), lit(colour("#f2b84b")))
    brush.soft(((-84, 24), (84, 24), (60, -8), (-60, -8)), lit(colour("#c9503f")))


def house(brush: Brush, wide: float, tall: float, wall: Colour, night: bool) -> None:
    half = wide / 2
    roof = mix(wall, colour("#7a3b2e"), 0.62)
    brush.polygon(((-half, 0), (half, 0), (half, tall), (-half, tall)), wall)
    brush.polygon(((-half - 14, tall), (half + 14, tall), (0, tall + wide * 0.5)), roof)
    glass = colour("#ffe08a") if night else mix(wall, colour("#d8eef6"), 0.85)
    frame = mix(wall, WHITE, 0.6)
    for x in (-wide * 0.24, wide * 0.24):
        for y in range(90 if tall > 150 else 80, int(tall) - 50, 84):
            brush.polygon(((x - 20, y), (x + 20, y), (x + 20, y + 48), (x - 20, y + 48)), frame)
            brush.polygon(((x - 16, y + 4), (x + 16, y + 4), (x + 16, y + 44), (x - 16, y + 44)), glass)
    brush.polygon(((-19, 0), (19, 0), (19, 62), (-19, 62)), roof)
    brush.circle(11, 31, 3, colour("#f7d774"))


def window(brush: Brush, top: Colour, foot: Colour, *, night: bool) -> None:
    brush.polygon(((-135, -135), (135, -135), (135, 135), (-135, 135)), colour("#fffaf0"))
    brush.polygon(((-118, -118), (118, -118), (118, 118), (-118, 118)), mix(top, foot, 0.35))
    (moon if night else sun)(brush.at(44, 46, 0.6), mix(top, foot, 0.35))
    if night:
        for x, y in ((-70, 70), (-40, 10), (-90, -40), (60, -60)):
            star(brush.at(x, y, 0.3), colour("#ffe28a"))
    else:
        cloud(brush.at(-40, -20, 0.6), WHITE)
    for across, up in ((7, 118), (118, 7)):
        brush.polygon(((-across, -up), (across, -up), (across, up), (-across, up)), colour("#fffaf0"))
    for side in (-1, 1):
        curtain = [(side * 96, 165), (side * 176, 165), (side * 182, -20), (side * 168, -170), (side * 126, -60)]
        brush.soft(curtain, colour("#d96c5f"))


def bed(brush: Brush, lit: Lit) -> None:
    wood = lit(colour("#a9713f"))
    brush.polygon(((170, 0), (190, 0), (190, 240), (170, 240)), wood)
    brush.polygon(((-170, 0), (-150, 0), (-150, 120), (-170, 120)), wood)
    brush.polygon(((-160, 30), (180, 30), (180, 96), (-160, 96)), lit(colour("#fdf6ea")))
    brush.soft(((-166, 26), (90, 26), (96, 108), (20, 122), (-160, 112)), lit(colour("#5f8fc0")))
    brush.ellipse(132, 116, 46, 24, lit(WHITE))
    for x, y in ((-110, 70), (-40, 84), (30, 66)):
        star(brush.at(x, y, 0.45), lit(colour("#f7d774")))


def rocket(brush: Brush) -> None:
    brush = brush.at(0, 0, turn=0.5)
    brush.polygon(((-22, -86), (22, -86), (0, -150)), colour("#f7b33b"))
    brush.polygon(((-12, -86), (12, -86), (0, -120)), colour("#fff0a8"))
    for side in (-1, 1):
        brush.polygon(((side * 30, -30), (side * 64, -84), (side * 26, -76)), colour("#d8433b"))
    brush.soft(((-34, -80), (34, -80), (40, 0), (0, 120), (-40, 0)), colour("#f4f1ea"))
    brush.shape(
        (-29, 62),
        [((-18, 96), (-8, 114), (0, 122)), ((8, 114), (18, 96), (29, 62)), ((10, 54), (-10, 54), (-29, 62))],
        colour("#d8433b"),
    )
    brush.circle(0, 18, 19, colour("#3f7fc4"))
    brush.circle(-5, 24, 6, colour("#a9d4f2"))


def balloon(brush: Brush, of: Colour) -> None:
    brush.line((0, 0), [((14, 40), (-14, 80), (0, 120))], mix(of, colour("#2b2430"), 0.4), 2.2)
    brush.polygon(((-7, 116), (7, 116), (0, 126)), mix(of, colour("#2b2430"), 0.2))
    brush.ellipse(0, 166, 36, 44, of)
    brush.ellipse(-12, 182, 8, 13, mix(of, WHITE, 0.5), turn=0.3)


def kite(brush: Brush, of: Colour) -> None:
    brush = brush.at(0, 0, turn=0.35)
    brush.line((0, -70), [((-20, -110), (26, -150), (-6, -200))], mix(of, colour("#2b2430"), 0.3), 2.4)
    brush.polygon(((0, 90), (52, 20), (0, -70), (-52, 20)), of)
    brush.polygon(((0, 90), (52, 20), (0, 20)), mix(of, WHITE, 0.35))
    brush.polygon(((0, -70), (-52, 20), (0, 20)), mix(of, colour("#2b2430"), 0.15))


def ball(brush: Brush, of: Colour) -> None:
    brush.circle(0, 34, 34, of)
    brush.ellipse(0, 34, 13, 33.5, mix(of, WHITE, 0.75))
    brush.circle(-12, 48, 7, mix(of, WHITE, 0.7))


def butterfly(brush: Brush, of: Colour) -> None:
    for side in (-1, 1):
        brush.ellipse(side * 15, 10, 15, 20, of, turn=side * 0.5)
        brush.ellipse(side * 12, -12, 11, 13, mix(of, WHITE, 0.3), turn=side * -0.4)
    brush.ellipse(0, 0, 3, 19, colour("#2b2430"))


def lantern(brush: Brush, of: Colour) -> None:
    brush.polygon(((-20, 0), (20, 0), (24, 56), (-24, 56)), colour("#5a4636"))
    brush.polygon(((-15, 5), (15, 5), (18, 51), (-18, 51)), colour("#ffe08a"))
    brush.polygon(((-6, 12), (6, 12), (6, 24), (-6, 24)), mix(of, WHITE, 0.2))
    brush.polygon(((-4, 24), (4, 24), (0, 42)), colour("#fff6d8"))
    brush.line((-14, 58), [((-12, 84), (12, 84), (14, 58))], colour("#5a4636"), 4)


def rainbow(brush: Brush, _of: Colour) -> None:
    for at, code in enumerate(("#e8604c", "#f4a04a", "#f7d95c", "#7cc06a", "#5aa5d8", "#8a72c0")):
        far = 330 - at * 22
        brush.drawing.stroke(_arc(brush, far), colour(code), 23 * brush.scale)


def _arc(brush: Brush, far: float) -> str:
    points = [brush.place((far * math.cos(a * math.pi / 40), far * math.sin(a * math.pi / 40))) for a in range(41)]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
