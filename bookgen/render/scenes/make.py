"""Composes a scene: sky, place, things and figures from the story, and blades of grass in the foreground."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from bookgen.render.cover.colour import WHITE, colour, mix
from bookgen.render.cover.drawing import Box, Drawing
from bookgen.render.cover.job import FinishedPicture
from bookgen.render.pdf.raster import raster
from bookgen.render.pictures import jpeg
from bookgen.render.scenes import things
from bookgen.render.scenes.brush import Brush
from bookgen.render.scenes.figures import StoryFigure, draw_figure, figure
from bookgen.render.scenes.job import SIDE, SceneJob, SheetJob
from bookgen.render.scenes.scenery import GREEN, GROUND, HOURS, SCENE_SIDE, Scenery, hour_of, place_of, room, sky, space
from bookgen.render.scenes.story_words import chance_of, first_mentioned

TALL = 4.1  # scene units per figure unit
MIN_NAME = 4  # letters; a shorter word of a name, such as "Mrs", does not stand for the figure
SHEET = 1536, 1024

# Things a story may mention: a pattern of their words, the function that draws them, and where they are placed.
PROPS = (
    (r"balloon|ballon|globo", things.balloon, "held"),
    (r"kite|drachen\b|cerf-volant|cometa", things.kite, "sky"),
    (r"ball\b|balle\b|pelota", things.ball, "ground"),
    (r"butterfl|schmetterling|papillon|mariposa", things.butterfly, "air"),
    (r"lantern|lamp|light|laterne|licht|lanterne|lumi[èe]re|farol|luz\b", things.lantern, "ground"),
    (r"rainbow|regenbogen|arc-en-ciel|arco ?iris", things.rainbow, "far"),
)
POSES = (
    (r"sleep|dream|yawn|schl[aä]f|traum|g[äa]hn|dort|dorm|r[êe]ve|duerm|sue[ñn]", "sleep"),
    (r"jump|hop|dance|cheer|fly|spring|h[üu]pf|tanz|jubel|saut|dans|salt|bail", "jump"),
    (r"wave|hello|call|shout|found|find|wink|hallo|ruf|gefunden|salu|bonjour|appel|trouv|hola|llam|encuentr", "wave"),
    (r"walk|run|go|follow|search|look|geh|lauf|such|march|cour|cherch|camin|corr|busc", "walk"),
)


def make_scene(job: SceneJob) -> FinishedPicture:
    drawing = Drawing(SCENE_SIDE, SCENE_SIDE)
    draw_scene(drawing, job)
    return FinishedPicture(jpeg(raster(drawing, SIDE), progressive=True))


def make_sheet(job: SheetJob) -> FinishedPicture:
    width, height = SHEET
    drawing = Drawing(width, height)
    drawing.rectangle(Box(0, 0, width, height), colour("#fbf5e9"))
    hero = figure(job.figures[0])
    for at, pose in enumerate(("stand", "walk", "wave")):
        x = width * (at + 0.5) / 3
        Brush(drawing, x, height * 0.8).ellipse(0, 0, 150, 22, colour("#ecdfc6"))
        draw_figure(Brush(drawing, x, height * 0.8, 4.6, flip=at == 1), hero, pose)
    return FinishedPicture(jpeg(raster(drawing), progressive=True))


def draw_scene(drawing: Drawing, job: SceneJob) -> None:
    text = job.story_text
    chance = chance_of(job.seed, str(job.number), text)
    paint = place_of(text, chance)
    hour = HOURS[0] if paint is space else hour_of(text, chance)
    scene = Scenery(drawing, hour, chance)
    if paint not in (room, space):
        sky(scene)
        _props(scene, text, "far", 0)
    paint(scene)
    hero, *others = (figure(each) for each in job.figures)
    present = [
        each for each, description in zip(others, job.figures[1:], strict=True) if _is_mentioned(description, text)
    ]
    toward = chance.random() < 0.5
    x = 500.0 if len(present) > 1 else (385 if toward else 615) if present else chance.uniform(430, 570)
    _props(scene, text, "sky", x)
    _props(scene, text, "air", x)
    away = 1 if toward else -1
    for at, other in enumerate(present[:2]):
        _put(scene, other, x + away * (290 - 560 * at), GROUND + 55 - at * 25, at == 0 and not toward, text, 0.86)
    _props(scene, text, "held", x)
    _put(scene, hero, x, GROUND + 110, toward, text, 1.0)
    _props(scene, text, "ground", x)
    if paint in GREEN:
        _near(scene)


def _is_mentioned(figure_description: str, story_text: str) -> bool:
    """Whether the first non-empty line of `story_text`, which says what the picture shows, names the figure.

    `figure_description` is the figure's description "name: look". A possessive, as in "Ada's ladder", does not count.
    """
    name = figure_description.partition(":")[0].strip().lower()
    shown = next((line for line in story_text.lower().splitlines() if line.strip()), "")
    words = [name, *(word for word in name.split() if len(word) >= MIN_NAME)]
    return bool(name) and any(re.search(rf"(?<!\w){re.escape(word)}(?!\w|['’]s\b)", shown) for word in words)


def _put(scene: Scenery, who: StoryFigure, x: float, y: float, left: bool, story_text: str, scale: float) -> None:
    shade = mix(scene.hour.lit(colour("#4b5a3a")), WHITE, 0.15)
    scene.brush(x, y + 4).ellipse(0, 0, 92 * who.size * scale, 13, shade)
    draw_figure(scene.brush(x, y, TALL * scale, flip=left), who, _pose(story_text, scene.chance))


def _pose(story_text: str, chance: random.Random) -> str:
    return first_mentioned(story_text, POSES) or chance.choice(("stand", "wave", "walk"))


def _props(scene: Scenery, story_text: str, where: str, x: float) -> None:
    """Draw the things in PROPS that the text mentions, near a hero at `x`.

    Only things whose place in PROPS is `where` are drawn: "far", "sky", "air", "held" or "ground".
    """
    chance = scene.chance
    for words, draw, layer in PROPS:
        if layer != where or not re.search(rf"\b(?:{words})", story_text.lower()):
            continue
        tint = colour(chance.choice(("#e8604c", "#f4a04a", "#5aa5d8", "#8a63b8", "#5fa052")))
        away = -1 if x > 500 else 1
        at: Callable[..., Brush] = scene.brush
        match where:
            case "far":
                draw(at(500, 640), tint)
            case "sky":
                draw(at(x + away * 250, 220, 1.1), tint)
            case "air":
                draw(at(x + away * 190, 430, 1.2), tint)
                draw(at(x - away * 150, 350, 0.9), mix(tint, WHITE, 0.3))
            case "held":
                draw(at(x + away * 66, 720, 1.5), tint)
            case _:
                draw(at(x + away * 190, GROUND + 150, 1.3), tint)


def _near(scene: Scenery) -> None:
    """Draw dark blades of grass at the lower corners, which give the picture depth."""
    shade = scene.hour.lit(colour("#4c8a4a"))
    for side in (-1, 1):
        for at in range(9):
            x = 500 + side * (505 - at * scene.chance.uniform(14, 26))
            tall = scene.chance.uniform(50, 125) * (1 - at * 0.07)
            lean = scene.chance.uniform(-22, 22)
            blade = scene.brush(x, 1006)
            blade.polygon(((-9, 0), (9, 0), (lean, tall)), mix(shade, WHITE, 0.05 * (at % 3)))
