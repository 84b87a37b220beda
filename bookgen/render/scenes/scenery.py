"""The place of a scene: sky, land and what stands on it, chosen by the words of the story."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from bookgen.render.cover.colour import WHITE, Colour, colour, mix
from bookgen.render.cover.drawing import Box, Drawing
from bookgen.render.scenes import things
from bookgen.render.scenes.brush import Brush
from bookgen.render.scenes.story_words import first_mentioned

SCENE_SIDE = 1000.0  # the side of a scene, in units
GROUND = 760.0  # the y where figures stand, from the top


@dataclass(frozen=True, slots=True)
class Hour:
    """The light of a time of day: the sky's colours at top and foot, and the tint of everything below it.

    `share`: the strength of the tint, from 0 to 1. `words`: a pattern of the words that mean this time of day.
    """

    name: str
    words: str
    top: Colour
    foot: Colour
    tint: Colour
    share: float

    @property
    def dark(self) -> bool:
        return self.name == "night"

    def at(self, y: float) -> Colour:
        """The sky's colour at distance `y` from the top."""
        return mix(self.top, self.foot, min(1.0, y / 640))

    def lit(self, of: Colour) -> Colour:
        return mix(of, self.tint, self.share)


HOURS = (
    Hour("night",
        r"night|moon|star|dream|sleep|bed\b|dark|nacht|mond|stern|traum|schl[aä]f|nuit|lune|"
        r"[ée]toile|r[êe]ve|noche|luna|estrell|sue[ñn]|duerm",
         colour("#1c2656"), colour("#5763a8"), colour("#1f2a5c"), 0.42),
    Hour("evening", r"evening|sunset|dusk|abend|sonnenuntergang|soir|cr[ée]puscule|atardecer|tarde\b",
         colour("#7a6bb0"), colour("#ffc38f"), colour("#b0607a"), 0.16),
    Hour("morning", r"morning|sunrise|dawn|early|morgen|fr[üu]h|matin|aube|ma[ñn]ana|amanecer",
         colour("#a9d8ee"), colour("#ffe9c4"), colour("#ffd9a0"), 0.12),
    Hour("day", r"day|noon|tag\b|mittag|jour|midi|d[ií]a\b",
         colour("#8fd0ee"), colour("#e4f5f7"), colour("#ffffff"), 0.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenery:
    """The tools for drawing a place: the drawing, the light and a random generator."""

    drawing: Drawing
    hour: Hour
    chance: random.Random

    def brush(self, x: float, y: float, scale: float = 1.0, *, flip: bool = False) -> Brush:
        """A brush with its origin at (x, y), measured from the scene's upper left corner."""
        return Brush(self.drawing, x, y, scale, flip)

    def fill(self, left: float, top: float, right: float, bottom: float, of: Colour) -> None:
        self.drawing.rectangle(Box(left, top, right, bottom), of)

    def hills(self, top: float, height: float, of: Colour, waves: int) -> None:
        """Draw rolling hills over the full width, filled down to the bottom."""
        step = SCENE_SIDE / waves
        points = [
            (at * step, -(top - self.chance.uniform(0.2, 1.0) * height * (1 if at % 2 else 0.35)))
            for at in range(-1, waves + 2)
        ]
        self.brush(0, 0).soft([*points, (SCENE_SIDE + step, -SCENE_SIDE * 1.4), (-step, -SCENE_SIDE * 1.4)], of)


def sky(scene: Scenery) -> None:
    hour, chance = scene.hour, scene.chance
    scene.drawing.fade(Box(0, 0, SCENE_SIDE, SCENE_SIDE * 0.8), ((0.0, hour.top), (0.8, hour.foot)))
    if hour.dark:
        for _ in range(46):
            size = chance.choice((1.6, 1.6, 2.2, 3.2))
            scene.brush(chance.uniform(0, SCENE_SIDE), chance.uniform(0, 480)).circle(
                0, 0, size, mix(WHITE, hour.top, 0.15)
            )
        for _ in range(5):
            things.star(scene.brush(chance.uniform(60, 940), chance.uniform(50, 330), 0.5), colour("#ffe28a"))
        things.moon(scene.brush(chance.choice((190, 800)), 170, 1.25), hour.at(170))
        return
    height = 430 if hour.name == "evening" else 190
    things.sun(scene.brush(chance.choice((180, 820)), height, 1.2), hour.at(height))
    for at in range(3):
        x = chance.uniform(80, 300) + at * 300
        things.cloud(scene.brush(x, chance.uniform(90, 260), chance.uniform(0.7, 1.15)), mix(WHITE, hour.foot, 0.12))


def meadow(scene: Scenery) -> None:
    far, near = colour("#a8d08a"), colour("#7fbf63")
    scene.hills(640, 110, scene.hour.lit(mix(far, scene.hour.foot, 0.35)), 3)
    scene.hills(690, 80, scene.hour.lit(far), 2)
    _dotted(scene, near, things.flower, 9)
    things.tree(scene.brush(scene.chance.choice((110, 890)), 700, 1.25), scene.hour.lit)


def forest(scene: Scenery) -> None:
    hour, chance = scene.hour, scene.chance
    scene.hills(640, 60, hour.lit(colour("#6a9f6c")), 4)
    for at in range(9):
        x = at * 125 + chance.uniform(-30, 30)
        things.fir(scene.brush(x, 690, chance.uniform(1.5, 2.3)), lambda of: hour.lit(mix(of, hour.foot, 0.3)))
    for x in (60, 170, 850, 955):
        things.fir(scene.brush(x + chance.uniform(-15, 15), 740, chance.uniform(2.2, 2.9)), hour.lit)
    _dotted(scene, colour("#5c9658"), things.mushroom, 5)


def beach(scene: Scenery) -> None:
    sea = scene.hour.lit(colour("#3f9fc4"))
    scene.fill(0, 560, SCENE_SIDE, SCENE_SIDE, sea)
    for at in range(7):
        y = 580 + at * 22
        x = scene.chance.uniform(0, 820)
        scene.brush(x, y).line((0, 0), [((40, 9), (90, 9), (130, 0))], mix(sea, WHITE, 0.45), 4)
    things.boat(scene.brush(scene.chance.choice((230, 760)), 598, 1.0), scene.hour.lit)
    _dotted(scene, colour("#f1d9a2"), things.shell, 6)


def snow(scene: Scenery) -> None:
    scene.hills(640, 130, scene.hour.lit(colour("#c9dcea")), 3)
    for x in (90, 210, 820, 930):
        things.fir(scene.brush(x, 710, scene.chance.uniform(1.5, 2.2)), lambda of: scene.hour.lit(mix(of, WHITE, 0.35)))
    _ground(scene, colour("#f4f8fb"))
    for _ in range(60):
        at = scene.brush(scene.chance.uniform(0, SCENE_SIDE), scene.chance.uniform(0, 960))
        at.circle(0, 0, scene.chance.uniform(2, 5.5), WHITE)


def town(scene: Scenery) -> None:
    hour, chance, sand = scene.hour, scene.chance, colour("#cdb892")
    walls = ["#e9b48a", "#d98a7a", "#f0d59a", "#9cc3c0", "#c8a6c9", "#e8c7b0"]
    chance.shuffle(walls)
    x = -30.0
    for at in range(7):
        wide = chance.uniform(130, 175)
        wall = hour.lit(mix(colour(walls[at % len(walls)]), hour.foot, 0.12))
        things.house(scene.brush(x + wide / 2, 720), wide, chance.uniform(190, 320), wall, hour.dark)
        x += wide + 4
    _ground(scene, sand)
    stone = hour.lit(mix(sand, colour("#8d7a58"), 0.22))
    for _ in range(26):
        place = scene.brush(chance.uniform(0, SCENE_SIDE), chance.uniform(790, 985))
        place.ellipse(0, 0, chance.uniform(14, 26), 7, stone)


def garden(scene: Scenery) -> None:
    scene.hills(620, 60, scene.hour.lit(mix(colour("#9ccb84"), scene.hour.foot, 0.3)), 3)
    things.house(scene.brush(790, 700, 1.0), 250, 190, scene.hour.lit(colour("#f1dcc0")), scene.hour.dark)
    things.tree(scene.brush(130, 720, 1.5), scene.hour.lit)
    for at in range(18):
        post = scene.brush(at * 60 - 10, 742)
        post.polygon(((0, 0), (34, 0), (34, 70), (17, 86), (0, 70)), scene.hour.lit(colour("#fbf3e4")))
    _dotted(scene, colour("#86c06a"), things.flower, 16)


def mountains(scene: Scenery) -> None:
    rock, snow_line = scene.hour.lit(mix(colour("#7f8fa6"), scene.hour.foot, 0.25)), scene.hour.lit(WHITE)
    for x, tall in ((180, 430), (820, 470), (500, 350)):
        peak = scene.brush(x, 720)
        peak.polygon(((-290, 0), (290, 0), (0, tall)), rock)
        cap = ((-66, tall * 0.77), (-26, tall * 0.71), (4, tall * 0.79), (40, tall * 0.7), (66, tall * 0.77), (0, tall))
        peak.polygon(cap, snow_line)
    scene.hills(700, 70, scene.hour.lit(colour("#8fbf7f")), 3)
    _dotted(scene, colour("#7ab06a"), things.flower, 6)


def river(scene: Scenery) -> None:
    scene.hills(640, 100, scene.hour.lit(mix(colour("#a3cf8c"), scene.hour.foot, 0.25)), 3)
    things.tree(scene.brush(880, 690, 1.4), scene.hour.lit)
    _ground(scene, colour("#84bf6d"))
    water = scene.hour.lit(colour("#58b0d6"))
    scene.brush(0, 0).soft(
        [(560, -700), (700, -720), (640, -800), (830, -900), (1080, -1020), (520, -1030), (600, -900), (470, -800)],
        water,
    )
    for at in range(8):
        scene.brush(600 + at * 22, 820 + at * 18).line((0, 0), [((12, 4), (30, 4), (42, 0))], mix(water, WHITE, 0.5), 3)
    for x in (90, 160, 420):
        things.flower(scene.brush(x, 930, 1.2), scene.hour.lit, scene.chance)


def room(scene: Scenery) -> None:
    lamp = replace(scene.hour, share=scene.hour.share * 0.45)  # the light is on, so less of the hour's tint
    scene = replace(scene, hour=lamp)
    wall = scene.hour.lit(colour("#f6dfc0"))
    scene.fill(0, 0, SCENE_SIDE, SCENE_SIDE, wall)
    for at in range(13):
        scene.fill(at * 82, 0, at * 82 + 40, 700, mix(wall, WHITE, 0.18))
    scene.fill(0, 700, SCENE_SIDE, SCENE_SIDE, scene.hour.lit(colour("#c79a6b")))
    scene.fill(0, 692, SCENE_SIDE, 712, scene.hour.lit(colour("#fff6e6")))
    things.window(scene.brush(300, 400), scene.hour.top, scene.hour.foot, night=scene.hour.dark)
    things.bed(scene.brush(775, 775), scene.hour.lit)
    scene.brush(470, 860).ellipse(0, 0, 330, 62, scene.hour.lit(colour("#7fb4b8")))
    scene.brush(470, 860).ellipse(0, 0, 270, 46, scene.hour.lit(colour("#97c8c9")))


def space(scene: Scenery) -> None:
    scene.drawing.fade(Box(0, 0, SCENE_SIDE, SCENE_SIDE), ((0.0, colour("#161c44")), (1.0, colour("#4a3f86"))))
    for _ in range(90):
        at = scene.brush(scene.chance.uniform(0, SCENE_SIDE), scene.chance.uniform(0, 800))
        at.circle(0, 0, scene.chance.choice((1.5, 2, 3)), mix(WHITE, colour("#161c44"), 0.1))
    for x, y, size, code in ((190, 220, 70, "#e98a6a"), (820, 170, 105, "#7fb4e0"), (690, 430, 34, "#f3c96a")):
        planet = scene.brush(x, y)
        planet.circle(0, 0, size, colour(code))
        planet.ellipse(-size * 0.2, size * 0.25, size * 0.5, size * 0.14, mix(colour(code), WHITE, 0.3), turn=-0.2)
        planet.line(
            (-size * 1.5, -size * 0.2),
            [((-size * 0.4, -size * 0.6), (size * 0.5, -size * 0.4), (size * 1.5, size * 0.3))],
            mix(colour(code), WHITE, 0.5),
            7,
        )
    things.rocket(scene.brush(500, 330, 1.1))
    scene.brush(0, 0).soft(
        [(-200, -790), (250, -735), (700, -765), (1200, -740), (1200, -1300), (-200, -1300)], colour("#b9b3d6")
    )
    for x, y in ((140, 860), (420, 930), (760, 850), (900, 950)):
        scene.brush(x, y).ellipse(0, 0, 60, 17, colour("#9c95c2"))


GREEN = (meadow, garden, forest, river, mountains)  # places with grass in the foreground

# The place that the text mentions first is drawn. If it mentions none, one of the first four is drawn.
PLACES: tuple[tuple[str, Callable[[Scenery], None]], ...] = (
    (r"meadow|field|grass|\blane\b|\bpath\b|\broad\b|wiese|feld|pr[ée]\b|prairie|prado|campo", meadow),
    (r"garden|yard|house|home|garten|haus|jardin|maison|jard[ií]n|casa", garden),
    (r"forest|wood|tree|wald|baum|for[êe]t|arbre|bosque|[áa]rbol", forest),
    (
        r"river|stream|brook|creek|pond|lake|bridge|fluss|bach|teich|see\b|br[üu]cke|rivi[èe]re|lac|pont|"
        r"r[ií]o\b|lago|puente", river),
    (
        r"sea\b|beach|ocean|boat|island|ship|meer|strand|boot|insel|schiff|mer\b|plage|"
        r"bateau|[îi]le\b|mar\b|playa|barco|isla", beach),
    (r"snow|winter|\bice\b|schnee|eis\b|neige|hiver|nieve|invierno", snow),
    (
        r"town|city|street|market|village|school|stadt|stra(?:ß|ss)e|markt|dorf|schule|"
        r"ville|rue\b|march[ée]|village|[ée]cole|ciudad|calle|mercado|pueblo|escuela", town),
    (r"mountain|hill|berg|h[üu]gel|montagne|colline|monta[ñn]a|colina", mountains),
    (
        r"inside|indoors|table\b|stove|armchair|drinnen|tisch\b|ofen\b|sessel|po[êe]le\b|fauteuil|mesa\b|estufa|"
        r"room|\bbed\b|bedroom|window|kitchen|zimmer|bett|fenster|k[üu]che|chambre|\blit\b|"
        r"fen[êe]tre|cuisine|cuarto|habitaci|cama|ventana|cocina", room),
    (r"space|rocket|planet|astronaut|weltraum|rakete|espace|fus[ée]e|plan[èe]te|espacio|cohete|planeta", space),
)  # fmt: skip

OUTDOORS = tuple(each for each in PLACES if each[1] not in (room, space))  # places under the sky


def place_of(story_text: str, chance: random.Random) -> Callable[[Scenery], None]:
    return first_mentioned(story_text, PLACES) or chance.choice(PLACES[:4])[1]


def hour_of(story_text: str, chance: random.Random) -> Hour:
    named = first_mentioned(story_text, ((hour.words, hour) for hour in HOURS))
    return named or chance.choice((HOURS[1], HOURS[2], HOURS[3], HOURS[3]))


def _ground(scene: Scenery, of: Colour) -> None:
    scene.hills(735, 36, scene.hour.lit(of), 2)
    scene.hills(900, 40, scene.hour.lit(mix(of, colour("#3d5a3a"), 0.07)), 3)


def _dotted(scene: Scenery, ground: Colour, thing: Callable[..., None], count: int) -> None:
    _ground(scene, ground)
    chance = scene.chance
    for _ in range(count):
        x = chance.choice((chance.uniform(20, 260), chance.uniform(740, 980)))
        thing(scene.brush(x, chance.uniform(790, 975), chance.uniform(0.8, 1.3)), scene.hour.lit, chance)
