"""Drawn covers: nothing cut, nothing hidden, everything readable, in every script."""

import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from bookgen import cover_options
from bookgen.errors import InvalidInput
from bookgen.render.cover.breaking import Units, break_lines
from bookgen.render.cover.colour import TITLE_CONTRAST, contrast
from bookgen.render.cover.faces import CINZEL, PLAYFAIR
from bookgen.render.cover.families import DESIGNS, EMBLEM, FAMILIES, MOOD_FACES, MOOD_PALETTES, Family
from bookgen.render.cover.job import Copy, CoverJob, Subject
from bookgen.render.cover.lettering import Typesetter
from bookgen.render.cover.make import make_cover
from bookgen.render.cover.motifs import DRAW
from bookgen.render.cover.palettes import DARK, LIGHT
from bookgen.render.cover.sheet import MIN_CAPITAL_HEIGHT
from bookgen.render.cover.variants import draw_front, family_of, palettes_for
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.pdf.inks import operators
from bookgen.render.pdf.raster import raster
from bookgen.render.pool import RenderPool
from tests.render.cover.books import WORDS, book, subject
from tests.render.cover.judge import NEAR, alike, boxes, draw, looks, pixels

# Numbers of books whose titles fill the cover.
A_TITLE_FOR_POSTERS_ALONE = 5000
TITLES_THAT_LEAVE_NO_FIGURE = (5210, 6970)
A_TITLE_DOWN_TO_THE_ROOFS = 3145
HARBOUR = Copy("The Patient Harbour", "A novel of copper and weather", "Ingrid Lindqvist", "en")


def drawn(copy: Copy, family: str = "swiss", variant: int = 0, width: float = 1600, height: float = 2560):
    told = {"family": DESIGNS[family], "variant": variant, "subject": subject(variant)}
    return draw_front(copy, seed="a book", width=width, height=height, **told)


def painted(seed: str) -> list[str]:
    return list(operators(draw(seed, HARBOUR, "Crime", 1), 0.0, 0.0, 1.0))


@pytest.mark.parametrize("family", DESIGNS)
def test_no_text_of_any_design_is_cut_or_hidden_or_too_small_in_any_script(family: str) -> None:
    place = list(DESIGNS).index(family)
    for number in range(place, 18 * 4, 28):  # together, the designs are tested with each script four times
        _, copy, _ = book(number)
        assert list(boxes(drawn(copy, family, number), copy)) == [], (number, copy)


@pytest.mark.parametrize("family", DESIGNS)
def test_the_pixels_of_a_design_match_its_declared_boxes(family: str) -> None:
    for number in (1, 11):
        _, copy, _ = book(number)
        assert list(pixels(drawn(copy, family, number))) == [], (number, copy)


def test_no_roof_overlaps_a_title_that_fills_the_sheet() -> None:
    seed, copy, _ = book(A_TITLE_DOWN_TO_THE_ROOFS)
    family = next(each for each in FAMILIES if each.name == "skyline")
    drawing = draw_front(copy, seed=seed, family=family, variant=A_TITLE_DOWN_TO_THE_ROOFS % 4, width=1600, height=2560)

    assert list(pixels(drawing)) == []


@pytest.mark.parametrize("language", sorted(WORDS))
def test_every_script_leaves_ink_in_its_box(language: str) -> None:
    number = list(WORDS).index(language)
    _, copy, _ = book(number)

    assert list(pixels(drawn(copy, "poster"))) == []


def test_a_title_of_two_hundred_characters_is_complete_and_large_enough() -> None:
    for copy in (
        Copy("港" * 200, "副題" * 40, "著者", "ja"),
        Copy("W" * 200, "", "", "en"),
        Copy("Meaningful words " * 11 + "and an end.", "With a subtitle " * 8, "Somebody", "en"),
    ):
        assert list(boxes(drawn(copy, "rosette"), copy)) == []


def test_the_same_book_has_the_same_covers_in_every_process() -> None:
    assert painted("seed") == painted("seed")
    assert painted("seed") != painted("another")


def test_three_variants_of_a_book_have_three_compositions() -> None:
    for number in (0, 1, A_TITLE_FOR_POSTERS_ALONE, *TITLES_THAT_LEAVE_NO_FIGURE):
        seed, copy, genre = book(number)
        assert len({family_of(seed, genre, variant).name for variant in range(3)}) == 3
        assert alike(seed, copy, genre) >= NEAR


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_title_that_fills_the_sheet_has_a_different_frame_in_each_variant(family: Family) -> None:
    seed, copy, _ = book(TITLES_THAT_LEAVE_NO_FIGURE[0])
    same = replace(family, palettes=family.palettes[:1], typography=family.typography[:1])

    seen = [
        looks(draw_front(copy, seed=seed, family=same, variant=variant, width=1600, height=2560))
        for variant in range(3)
    ]

    assert min(one - other for one, other in itertools.combinations(seen, 2)) >= NEAR


def test_the_designs_of_a_genre_come_first() -> None:
    first = {family_of(f"book {number}", "Crime and thriller", 0).name for number in range(20)}

    assert first == {"skyline"}


def test_a_style_that_names_a_design_is_followed() -> None:
    assert family_of("seed", "Crime", 0, "something botanical, please").name == "botanical"


@pytest.mark.parametrize("palette", DARK + LIGHT, ids=lambda palette: palette.name)
def test_the_ink_of_a_palette_is_readable_on_its_ground(palette) -> None:
    assert contrast(palette.ink, palette.ground) >= TITLE_CONTRAST


def test_no_line_ends_in_an_article_or_a_preposition_if_another_break_is_nearly_as_even() -> None:
    typeface = Typeface("serif", "en", body=PLAYFAIR.source)
    units = Units(typeface, "en", PLAYFAIR, {"bold": True}).divide(
        "Letters from the Winter Library of a Lost River", 1e9
    )

    lines = break_lines(units, 3, 100.0)

    assert lines
    ends = [line[-1].pieces[0][0] for line in lines]
    assert not {"from", "the", "of", "a"} & set(ends)


@pytest.mark.parametrize(
    ("written", "capitals"), [("Désirée", "DÉSIRÉE"), ("Ἀλέξανδρος", "ΑΛΕΞΑΝΔΡΟΣ"), ("Μαΐου", "ΜΑΪΟΥ")]
)
def test_capital_letters_lose_their_accents_in_greek_only(written: str, capitals: str) -> None:
    setter = Typesetter(CINZEL, "el")

    assert setter.fitted(written, 900, 300, 200, 20) == setter.fitted(capitals, 900, 300, 200, 20)


def test_a_title_breaks_after_its_colon() -> None:
    typeface = Typeface("serif", "en", body=PLAYFAIR.source)
    units = Units(typeface, "en", PLAYFAIR, {"bold": True}).divide("The Harbour: A Long Patient Story", 1e9)

    lines = break_lines(units, 2, 100.0)

    assert lines
    assert lines[0][-1].pieces[0][0] == "Harbour:"


@pytest.mark.parametrize(
    ("title", "letters"),
    [
        ("The Quiet Hand at Tern Lock", ["TheQuietHand", "atTernLock"]),
        ("Keeping a Small Orchard", ["Keeping", "aSmallOrchard"]),
        ("The Year We Ran the Bakery", ["TheYear", "WeRan", "theBakery"]),
        ("Das Licht von Süderoog", ["DasLicht", "vonSüderoog"]),
    ],
)
def test_words_of_a_phrase_stay_on_one_line_unless_the_letters_would_be_much_smaller(
    title: str, letters: list[str]
) -> None:
    found = Typesetter(PLAYFAIR, "en").fitted(title, 1240, 620, 330, 60)

    assert [len(line.glyphs) for line in found.lines] == [len(line) for line in letters]


async def test_a_worker_process_draws_a_cover_and_its_thumbnail() -> None:
    pool = RenderPool(workers=1)
    try:
        made = await pool.run(CoverJob(HARBOUR, "seed", "Crime", 0))
    finally:
        await pool.close()

    with Image.open(io.BytesIO(made.picture.data)) as image, Image.open(io.BytesIO(made.thumbnail.data)) as small:
        assert (image.format, image.size, image.mode) == ("JPEG", (1600, 2560), "RGB")
        assert (small.format, small.size) == ("JPEG", (400, 640))
    assert made.style == "skyline"


def test_a_letter_without_a_font_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput, match=r"^No font has U\+1E2C0 .* apt install fonts-noto-core"):
        make_cover(CoverJob(Copy("A \U0001e2c0 sign", "", "", "en"), "seed", "", 0))


@pytest.mark.parametrize(
    ("title", "language", "lines"),
    [
        ("L’été des hirondelles", "fr", ["L’été", "des hirondelles"]),
        ("銀河鉄道の夜", "ja", ["銀河鉄道", "の夜"]),
    ],
)
def test_larger_letters_do_not_justify_a_line_break_within_a_phrase(title, language, lines) -> None:
    least = 1600 * MIN_CAPITAL_HEIGHT / 0.7

    text = Typesetter(PLAYFAIR, language).fitted(title, 1350, 900, 352, least)

    assert len(text.lines) == len(lines)
    longest = max(lines, key=len)
    assert len(max(text.lines, key=lambda line: len(line.glyphs)).glyphs) == len(longest.replace(" ", ""))


def test_a_model_may_choose_exactly_what_can_be_drawn() -> None:
    assert list(cover_options.FAMILIES) == [family.name for family in (*FAMILIES, EMBLEM)]
    assert list(cover_options.PALETTES) == [palette.name for palette in DARK + LIGHT]
    assert list(cover_options.MOTIFS) == list(DRAW)
    assert list(cover_options.MOODS) == list(MOOD_FACES) == list(MOOD_PALETTES)


def art(**told: object) -> bytes:
    """The visible shapes of an emblem without its texts."""
    told = {"palettes": ("pine",), "motif": "key", "mood": "calm", **told}
    drawing = draw_front(
        Copy("A", "", "", "en"),
        seed="s",
        family=EMBLEM,
        variant=0,
        width=400,
        height=640,
        subject=Subject(**told),  # type: ignore[arg-type]
    )
    return raster(replace(drawing, letterings=[])).tobytes()


def test_every_motif_and_every_mood_gives_a_different_picture() -> None:
    assert len({art(motif=motif) for motif in cover_options.MOTIFS}) == len(cover_options.MOTIFS)
    assert len({art(mood=mood) for mood in cover_options.MOODS}) == len(cover_options.MOODS)
    assert len({art(palettes=(name,)) for name in cover_options.PALETTES}) == len(cover_options.PALETTES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_design_uses_the_first_palette_it_has_or_else_one_for_the_mood(family: Family) -> None:
    own = [palette.name for palette in family.palettes]
    strange = next((palette.name for palette in DARK + LIGHT if palette.name not in own), "")

    assert [each.name for each in palettes_for(family, Subject(palettes=(strange, own[-1], own[0])))] == [own[-1]]
    for mood, names in MOOD_PALETTES.items():
        chosen = {each.name for each in palettes_for(family, Subject(palettes=(strange,), mood=mood))}
        assert chosen == set(names) & set(own) or (not set(names) & set(own) and chosen == set(own))


def test_a_cover_without_a_subject_is_drawn_as_before() -> None:
    known = draw_front(HARBOUR, seed="s", family=FAMILIES[0], variant=0, width=400, height=640, subject=Subject())

    assert known == draw_front(HARBOUR, seed="s", family=FAMILIES[0], variant=0, width=400, height=640)


@pytest.mark.parametrize("told", ["", "a town by night", "the sea"])
@pytest.mark.parametrize(("width", "height"), [(1600, 2560), (2550, 2550)])
def test_the_hero_is_complete_on_picture_book_covers_of_any_shape(told: str, width: int, height: int) -> None:
    without = Subject(figures=("",), told=told)
    for variant in range(4):
        shown = draw_front(
            Copy("Finn", "", "Ada", "en"),
            seed="s",
            family=DESIGNS["hero"],
            variant=variant,
            width=width,
            height=height,
            subject=replace(without, figures=("Finn: a penguin with an orange scarf",)),
        )
        scarf = np.asarray(raster(shown, 400)).astype(int)
        orange = (abs(scarf - np.array((217, 87, 47))).sum(axis=2) < 40).nonzero()
        assert len(orange[0]) > 60, "the scarf of the hero is seen"
        assert orange[1].min() > 40
        assert orange[1].max() < 360
