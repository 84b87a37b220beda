"""Drawn scenes of children's books: figures that stay the same, places and times of day from the story's words."""

from __future__ import annotations

import io
import struct
from dataclasses import replace

import pytest
from PIL import Image, ImageChops

from bookgen.errors import InvalidInput
from bookgen.providers.sample.phrases import phrases
from bookgen.render.cover.drawing import Drawing
from bookgen.render.cover.job import ReceivedJob
from bookgen.render.cover.make import keep_picture
from bookgen.render.pdf.raster import raster
from bookgen.render.scenes import figures, make, scenery
from bookgen.render.scenes.brush import Brush
from bookgen.render.scenes.figures import CHILD, KINDS, draw_figure, figure
from bookgen.render.scenes.job import SIDE, SceneJob, SheetJob
from bookgen.render.scenes.make import make_scene, make_sheet
from tests.render.test_settings import red_picture

PIP = "Pip: a small grey mouse with a red scarf"
SCENE = SceneJob("1 Pip", (PIP, "Bruno: a big brown bear with a blue hat"), "Pip in the meadow by day", 1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "SIDE", 200)


def pixels(job: SceneJob) -> Image.Image:
    with Image.open(io.BytesIO(make_scene(job).picture.data)) as image:
        return image.convert("RGB")


def test_a_scene_has_300_pixels_per_inch_of_the_page_and_its_bleed() -> None:
    picture = make_scene(SCENE).picture

    assert (picture.width, picture.height) == (SIDE, SIDE)
    assert SIDE / 300 == 8.75


@pytest.mark.parametrize(
    "told",
    [
        PIP,
        "Pip: eine kleine graue Maus mit rotem Schal",
        "Pip: une petite souris grise avec une écharpe rouge",
        "Pip: un pequeño ratón gris con una bufanda roja",
    ],
)
def test_a_figure_matches_its_description_in_every_sample_language(told: str) -> None:
    seen = figure(told)

    assert (seen.kind.name, seen.garment) == ("mouse", "scarf")
    assert seen.coat == figures.colour("#9a9aa6")
    assert seen.garment_colour == figures.colour("#d8433b")
    assert seen.size < 0.86


def test_a_figure_looks_the_same_on_every_picture_and_another_name_may_look_different() -> None:
    assert figure("Zwirbel: who is kind") == figure("Zwirbel: who is kind")
    assert len({figure(f"Somebody {number}: kind").kind.name for number in range(30)}) > 4


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_every_figure_of_the_samples_is_recognised(language: str) -> None:
    for told in phrases(language)["picture_book"]["figures"]:
        kinds = [kind for kind in (*KINDS, CHILD) if figures.re.search(rf"\b(?:{kind.words})", told.lower())]
        assert figure(told.replace(" :", ":")).kind in kinds, told


@pytest.mark.parametrize("pose", ["stand", "wave", "walk", "jump", "sleep"])
def test_every_figure_stays_within_its_space_in_every_pose(pose: str) -> None:
    for kind in (*KINDS, CHILD):
        drawing = Drawing(300, 300)
        draw_figure(Brush(drawing, 150, 220, 1.0), figure(f"X: a {kind.name}"), pose)
        box = ImageChops.invert(raster(drawing).convert("L")).point(lambda value: 255 if value < 255 else 0).getbbox()
        assert box is not None
        assert box[0] > 40, kind
        assert box[2] < 260, kind
        assert box[1] > 40, kind


@pytest.mark.usefixtures("small")
def test_the_same_job_gives_the_same_picture_and_another_spread_a_different_one() -> None:
    assert make_scene(SCENE) == make_scene(SCENE)
    assert make_scene(SCENE) != make_scene(replace(SCENE, number=2))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("place", scenery.PLACES, ids=lambda place: place[1].__name__)
def test_every_place_can_be_drawn_at_every_hour(place: tuple[str, object]) -> None:
    word = place[0].split("|")[0].replace(r"\b", "")
    assert scenery.PLACES[[p[1] for p in scenery.PLACES].index(place[1])] is place  # type: ignore[arg-type]

    seen = {hour.name: pixels(replace(SCENE, story_text=f"Pip {word} {hour.name}")) for hour in scenery.HOURS}

    assert all(len(image.getcolors(1 << 16) or range(99)) > 40 for image in seen.values())


def darkness(image: Image.Image) -> float:
    return 255 - float(image.convert("L").resize((1, 1)).getpixel((0, 0)))  # type: ignore[arg-type]


@pytest.mark.usefixtures("small")
def test_night_is_darker_than_day() -> None:
    day, night = (pixels(replace(SCENE, story_text=f"Pip in the meadow {hour}")) for hour in ("by day", "at night"))

    assert darkness(night) > darkness(day) + 60


@pytest.mark.usefixtures("small")
def test_only_the_figures_mentioned_in_a_scene_are_drawn() -> None:
    alone = pixels(SCENE)
    two = pixels(replace(SCENE, story_text="Pip and Bruno in the meadow by day"))
    blue = figures.colour("#3f7fc4")

    def has_hat(image: Image.Image) -> bool:
        colours = image.getcolors(1 << 20) or ()
        near = (count for count, each in colours if sum(abs(a - b) for a, b in zip(each, blue, strict=True)) < 40)
        return sum(near) > 30

    assert has_hat(two)
    assert not has_hat(alone)


def test_an_uploaded_picture_is_re_encoded_and_anything_else_is_refused() -> None:
    painted = red_picture(400, 400)

    kept = keep_picture(ReceivedJob(painted.data))

    assert (kept.picture.width, kept.picture.height) == (400, 400)
    with pytest.raises(InvalidInput):
        keep_picture(ReceivedJob(b"<svg/>" * 100))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_picture_with_unreadable_metadata_is_accepted(kind: str) -> None:
    orientation, date = (
        (0x0112, 3, 1, 6),
        (0x0132, 11, 1, 0x3FC00000),
    )  # the date is stored as a number, which none of them is
    tags = b"".join(struct.pack("<HHII", *tag) for tag in (orientation, date))
    told = io.BytesIO()
    with Image.open(io.BytesIO(red_picture(400, 300).data)) as painted:
        painted.save(told, kind, exif=b"Exif\0\0" + struct.pack("<2sHIH", b"II", 42, 8, 2) + tags + bytes(4))

    kept = keep_picture(ReceivedJob(told.getvalue()))

    assert (kept.picture.width, kept.picture.height) == (400, 300)


def test_the_character_sheet_shows_the_hero_three_times() -> None:
    sheet = make_sheet(SheetJob("1 Pip", (PIP,)))

    with Image.open(io.BytesIO(sheet.picture.data)) as image:
        red = image.convert("RGB").point(lambda value: value)
        thirds = [red.crop((at * 512, 0, at * 512 + 512, 1024)) for at in range(3)]
    scarf = figures.colour("#d8433b")
    for third in thirds:
        near = sum(count for count, colour in third.getcolors(1 << 20) or ()
                   if sum(abs(a - b) for a, b in zip(colour, scarf, strict=True)) < 30)  # fmt: skip
        assert near > 1_000


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("Otto: a stout badger, as tall as a milk churn, black and white striped face", "badger"),
        ("Pim: a small orange squirrel with a white belly and a yellow scarf, tail as long as he is", "squirrel"),
        ("Nele: ein kleines Eichhörnchen mit rotem Schal", "squirrel"),
        ("Mrs Finch: a tiny brown bird the size of an apple", "bird"),
        ("Grandma: an old woman with grey hair and a blue dress", "child"),
        ("Rufus: a young wolf with a torn ear", "fox"),
    ],
)
def test_animals_and_grown_ups_of_stories_are_drawn_as_what_they_are(told: str, kind: str) -> None:
    assert figure(told).kind.name == kind


@pytest.mark.parametrize("name", ["Ann", "Bo", "Cy", "Dee", "Eli", "Flo", "Gus", "Hal", "Ida", "Jo"])
def test_an_animal_that_cannot_be_drawn_is_drawn_as_another_animal_and_as_no_child(name: str) -> None:
    assert figure(f"{name}: a grey tapir with short fur and a long snout").kind is not CHILD


@pytest.mark.parametrize(
    ("told", "paint"),
    [
        ("Inside the little red house, lantern light: Otto and Pim around a pot", scenery.room),
        ("Dusk at a brook in the lane", scenery.river),
        ("Otto walks down the lane at noon", scenery.meadow),
    ],
)
def test_a_scene_plays_where_its_first_words_say(told: str, paint: object) -> None:
    assert scenery.place_of(told, scenery.random.Random(1)) is paint


@pytest.mark.parametrize(
    ("told", "is_there"),
    [
        ("Otto and Mrs Finch on a root", True),
        ("Finch waves", True),
        ("Otto pulls out Mrs Finch’s ladder", False),
        ("Mrs Mole waves\nOtto visits Mrs Finch", False),
        ("\nMrs Finch waves", True),
    ],
)
def test_a_figure_is_drawn_if_the_picture_shows_it_and_not_if_only_a_thing_is_theirs(told: str, is_there: bool) -> None:
    assert make._is_mentioned("Mrs Finch: a tiny brown bird", told) is is_there
