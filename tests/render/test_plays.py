"""Plays are set as plays: names hang, directions are indented, and each speech has space above it."""

from __future__ import annotations

import io
from itertools import pairwise

import docx
import pytest

from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.lines import Tail
from bookgen.render.model import TURNED_EMS, Paragraph
from bookgen.render.plays import Role, roles
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.test_docx import of_style
from tests.render.test_epub import text_of
from tests.render.test_sent_markdown import SENTENCE, chapter, left_edges, lines

LONG = (SENTENCE * 2).strip()
PLAY = f"""\
## Scene One

*The weighing room, nine in the morning.*

**JANET.** Feet.

**HAYDEN.** {LONG}

*He wipes his feet.*

**JANET.** *(closing the clock)* Yesterday was a Thursday.

**HAYDEN.** Right."""
SONG = "**JANET.** *(sings)*\n\nGo down,\\\ngo down."
EXCHANGE = "**ANNA.** You came.\n\n**BERT.** I walked."


def roles_of(text: str, make: Make) -> list[Role | None]:
    (section,) = make(text).chapters
    found = roles(section.blocks)
    return [found.get(index) for index, block in enumerate(section.blocks) if isinstance(block, Paragraph)]


def sheet(book: Rendered) -> str:
    return text_of(book.epub, "EPUB/style.css")


def test_speeches_cues_and_directions_are_told_apart(make: Make) -> None:
    text = f"{PLAY}\n\n**JANET.** *(sings)*\n\n**HAYDEN.**\n\nA plain paragraph."

    assert roles_of(text, make) == [
        Role.DIRECTION,
        Role.SPEECH,
        Role.SPEECH,
        Role.DIRECTION,
        Role.SPEECH,
        Role.SPEECH,
        Role.CUE,
        Role.CUE,
        None,
    ]


@pytest.mark.parametrize(
    "speech",
    [
        "**{}.** So.",
        "**{}:** So.",
        "**{}**: So.",
        "**{}。** そう。",
        "**{} and BERT.** *(together)* So.",
        "**{}.**\nSo.",
    ],
)
def test_the_mark_after_a_name_may_vary(speech: str, make: Make) -> None:
    text = "\n\n".join(speech.format(name) for name in ("ANNA", "CARL") * 2)

    assert roles_of(text, make) == [Role.SPEECH] * 4


@pytest.mark.parametrize(
    "text",
    [
        EXCHANGE,  # too short to tell
        "\n\n".join(f"**{term}.** From the sea." for term in ("Salt", "Sand", "Kelp", "Foam", "Gull", "Tide")),
        f"{EXCHANGE}\n\n{EXCHANGE}\n\n" + "\n\n".join([LONG] * 9),
        "\n\n".join(["**Warning.** It is hot.", *[LONG] * 3] * 4),
        "\n\n".join(["He **never** came.", "She did."] * 4),
    ],
)
def test_a_glossary_prose_and_warnings_are_no_play(text: str, make: Make) -> None:
    book = render(make(text))

    assert not any(roles_of(text, make))
    assert 'class="part"' not in chapter(book)
    assert "p.part" not in sheet(book)
    assert "BookSpeech" not in [style.style_id for style in docx.Document(io.BytesIO(book.docx)).styles]


def test_names_hang_and_directions_stand_below_the_words(make: Make) -> None:
    book = render(make(PLAY))
    edges = left_edges(book.layout)
    turned = TURNED_EMS * geometry(book.settings, "6x9").size
    second = next(line for line in edges if line.startswith("lived there"))
    name, direction = edges["JANET. Feet."], edges["He wipes his feet."]

    assert edges["Scene One"] == pytest.approx(name)
    assert edges["HAYDEN. Right."] == pytest.approx(name)
    assert direction - name == pytest.approx(turned, abs=0.01)
    assert edges[second] == pytest.approx(direction)


def test_speeches_are_ragged_and_half_a_line_apart(make: Make) -> None:
    book = render(make(PLAY))
    marks = [(y, mark.line) for page in book.layout.pages for y, mark in body(page)]
    inner = [line for _, line in marks if line.tail in (Tail.SPACE, Tail.HYPHEN)]
    at = [line.text for _, line in marks].index("JANET. Feet.")
    (first, _), (hayden, _), (turned, _) = marks[at : at + 3]

    assert inner
    assert all(line.opening == 0 and line.expansion == 100 for line in inner)
    assert first - hayden == pytest.approx(1.5 * (hayden - turned))


def test_a_play_has_no_initial_and_no_small_capitals(make: Make) -> None:
    book = render(make(f"{EXCHANGE}\n\n" * 3), ExportSettings(drop_caps=True))

    assert "ANNA. You came." in [line for _, line in lines(book.layout)]
    assert ".opening > p.part::first-letter" in sheet(book)


def test_a_name_alone_stays_with_its_words(make: Make) -> None:
    parted = []
    for above in range(12, 30):
        text = "\n\n".join([*[EXCHANGE] * above, SONG, EXCHANGE])
        pages = {line: id(page) for page, line in lines(render(make(text)).layout)}
        parted += [above] * (pages["JANET. (sings)"] != pages["Go down,"])
    book = render(make("\n\n".join([EXCHANGE, EXCHANGE, SONG])))
    kept = {each.text: each.paragraph_format.keep_with_next for each in docx.Document(io.BytesIO(book.docx)).paragraphs}

    assert parted == []
    assert kept["JANET. (sings)"]
    assert not kept["BERT. I walked."]
    assert '<p class="part cue"><strong>JANET.</strong> <em>(sings)</em></p>' in chapter(book)
    assert "p.cue { break-after: avoid" in sheet(book)


def test_pages_of_a_play_are_not_overfull(make: Make) -> None:
    book = render(make(f"{PLAY}\n\n" * 12))
    lowest = geometry(book.settings, "6x9").foot

    for page in book.layout.pages:
        if page.kind == "chapter":
            assert min(y for y, _ in body(page)) >= lowest - 0.01


def test_word_has_styles_for_speeches_and_directions(make: Make) -> None:
    book = render(make(PLAY))
    document = docx.Document(io.BytesIO(book.docx))
    speech, direction = document.styles["Book Speech"], document.styles["Book Direction"]

    assert [each.text for each in of_style(document, "Book Direction")][1] == "He wipes his feet."
    assert len(of_style(document, "Book Speech")) == 4
    assert speech.paragraph_format.first_line_indent == -speech.paragraph_format.left_indent
    assert direction.paragraph_format.left_indent == speech.paragraph_format.left_indent
    assert direction.paragraph_format.first_line_indent == 0
    assert direction.paragraph_format.space_before.pt > 5
    assert '<p class="part"><strong>JANET.</strong> Feet.</p>' in chapter(book)
    assert '<p class="direction"><em>He wipes his feet.</em></p>' in chapter(book)


@pytest.mark.parametrize(
    ("title", "language"),
    [
        ("Act One: Nothing Owing", "en"),
        ("Act I", "en"),
        ("Act Two, Scene One: The Line", "en"),
        ("Scene 3", "en"),
        ("Part Two. Later", "en"),
        ("Erster Akt: Nichts schuldig", "de"),
        ("1. Akt", "de"),
        ("Acte premier", "fr"),
        ("Acto segundo. La fila", "es"),
        ("Первое действие", "ru"),
        ("第一幕　郵便局", "ja"),
    ],
)
def test_no_chapter_number_stands_above_an_act(title: str, language: str, make: Make) -> None:
    play, novel = (
        render(make((title, text), ("Later", LONG), language=language)) for text in (f"{EXCHANGE}\n\n" * 3, LONG)
    )

    assert 'class="number"' not in chapter(play)
    assert 'class="number"' in chapter(novel)


@pytest.mark.parametrize("title", ["The Line", "Part of the Family", "An Act of Kindness", "Acting", "Scenes"])
def test_other_titles_in_a_play_have_their_number(title: str, make: Make) -> None:
    assert 'class="number"' in chapter(render(make((title, f"{EXCHANGE}\n\n" * 3), ("Later", LONG))))


def test_an_act_without_speeches_has_no_number_in_a_play(make: Make) -> None:
    assert 'class="number"' not in chapter(render(make(("Act One", LONG), ("Later", LONG), genre="Stage play")))


def test_an_overlap_stays_with_its_word(make: Make) -> None:
    speeches = "**ANNA.** One in eleven / thousand.\n\n**BERT.** None, either/or."
    (play,) = make(f"{speeches}\n\n{speeches}").chapters
    (novel,) = make("One in eleven / thousand.").chapters

    assert play.blocks[0].spans[-1].text == " One in eleven /\u00a0thousand."  # type: ignore[union-attr]
    assert novel.blocks[0].spans[-1].text == "One in eleven / thousand."  # type: ignore[union-attr]


def test_a_speech_is_no_warning(make: Make) -> None:
    text = "\n\n".join(["**ANNA.** You came.", "*She sits.*", "**BERT.** I walked.", "*He sits.*"] * 3)
    book = render(make(text))
    heights = [y for page in book.layout.pages for y, _ in body(page)][-12:]
    gaps = {round(above - below, 2) for above, below in pairwise(heights)}

    assert len(gaps) == 1
    assert 'class="apart"' not in chapter(book)


def test_arabic_speeches_hang_on_the_right(make: Make) -> None:
    text = "\n\n".join([f"**{name}.** {'كان المساء هادئا في الميناء ' * 6}" for name in ("سلمى", "عمر") * 2])
    book = render(make(text, language="ar"))
    marks = [mark for page in book.layout.pages for _, mark in body(page)]
    ends = sorted({round(mark.x + mark.line.x + mark.line.width, 1) for mark in marks[-8:]})

    assert ends[-1] - ends[0] == pytest.approx(TURNED_EMS * marks[-1].size, abs=0.2)
