"""Pages by a typesetter's rules."""

from __future__ import annotations

import math
import random

import pytest

from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.rows import Image, TextMark
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import SAFE, TRIMS, inside_margin, kdp_inside
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body, level_spreads, page_ends, spacing

PROSE = "The harbour was quiet in the evening and nobody who lived there could remember it otherwise. " * 12


@pytest.mark.parametrize(("corpus", "least"), [("novel", 0.95), ("dialogue", 0.90), ("rich", 0.90)])
def test_facing_pages_end_at_the_same_height(corpus: str, least: float, request: pytest.FixtureRequest) -> None:
    level, total = level_spreads(request.getfixturevalue(corpus).printed)

    assert total > 40
    assert level / total >= least


@pytest.mark.parametrize("corpus", ["novel", "dialogue", "rich"])
def test_there_are_no_widows_and_hardly_any_orphans(corpus: str, request: pytest.FixtureRequest) -> None:
    layout = request.getfixturevalue(corpus).printed
    ends = page_ends(layout)

    assert ends.widows == 0
    assert ends.orphans <= math.ceil(len(layout.pages) / 300)


def test_no_page_ends_with_a_single_line_after_a_scene_break(make: Make) -> None:
    drawn = random.Random(1)

    def paragraph() -> str:
        return "The harbour was quiet in the evening. " * drawn.randint(5, 30)

    scenes = [f"“Well?” she said.\n\n{paragraph()}\n\n{paragraph()}" for _ in range(90)]
    ends = page_ends(render(make("\n\n***\n\n".join(scenes))).layout)

    assert (ends.lonely_lines, ends.widows) == (0, 0)


@pytest.mark.parametrize("corpus", ["novel", "rich"])
def test_no_heading_is_the_last_line_of_a_page(corpus: str, request: pytest.FixtureRequest) -> None:
    assert page_ends(request.getfixturevalue(corpus).printed).stranded_headings == 0


@pytest.mark.parametrize("corpus", ["novel", "dialogue", "rich"])
def test_word_spaces_are_even_and_hyphens_are_never_stacked(corpus: str, request: pytest.FixtureRequest) -> None:
    measured = spacing(request.getfixturevalue(corpus).printed)

    assert measured.variation < 0.25
    assert measured.hyphenated < 0.10
    assert measured.ladders == 0


def test_chapters_start_on_right_hand_pages_without_a_running_head(novel: Rendered) -> None:
    layout = novel.printed
    for index, page in enumerate(layout.pages):
        if page.anchors:
            assert index % 2 == 0
            assert [mark.line.text for mark in furniture(page)] == [page.label]


def test_blank_pages_are_empty_and_never_more_than_two(novel: Rendered) -> None:
    blanks = 0
    for page in novel.printed.pages:
        blanks = 0 if page.placed else blanks + 1
        assert blanks <= 2


def test_a_screen_file_has_no_blank_page_and_centred_text(novel: Rendered) -> None:
    pages = novel.layout.pages
    page = geometry(novel.settings, "6x9")

    assert all(page.placed for page in pages)
    assert [each.label for each in pages[novel.layout.front_pages :]] == [
        str(number) for number in range(1, len(pages) - novel.layout.front_pages + 1)
    ]
    assert {round(left_edge(each), 2) for each in pages if len(body(each)) > 20} == {round(page.margins / 2, 2)}


def test_every_format_knows_the_pages_of_the_printed_book(novel: Rendered) -> None:
    shown, printed = novel.layout.pagination, novel.printed.pagination

    assert (shown.pages, shown.starts) == (printed.pages, printed.starts)
    assert novel.layout.pagination.pages == len(novel.printed.pages)


@pytest.mark.parametrize("profile", ["layout", "printed"])
def test_the_contents_give_the_number_and_page_of_each_chapter(profile: str, rich: Rendered) -> None:
    layout = getattr(rich, profile)
    pages = {page.anchors[0]: page.label for page in layout.pages if page.anchors}
    contents = [page for page in layout.pages if page.kind == "toc"]
    _, *entries = [mark.line.text for page in contents for _, mark in body(page)]

    assert entries[::3] == [str(section.number) for section in rich.manuscript.chapters]
    assert entries[1::3] == [section.title for section in rich.manuscript.chapters]
    assert entries[2::3] == list(pages.values())
    assert [link.anchor for page in contents for link in page.links] == list(pages)


def test_nothing_is_closer_to_the_trim_than_half_an_inch(rich: Rendered) -> None:
    layout = rich.printed
    for page in layout.pages:
        for placed in page.placed:
            mark = placed.mark
            if isinstance(mark, TextMark):
                left = placed.x + mark.x + mark.line.x
                assert left >= SAFE - 0.01
                assert left + mark.line.width <= layout.width - SAFE + mark.size * 0.4  # a hanging full stop or hyphen
                assert SAFE <= placed.y + mark.dy <= layout.height - SAFE
            elif isinstance(mark, Image):
                assert SAFE <= placed.x + mark.x <= layout.width - SAFE


@pytest.mark.parametrize("name", TRIMS)
def test_every_trim_has_room_for_the_printers_margins(name: str) -> None:
    page = geometry(ExportSettings(), name)

    for pages in (24, 150, 151, 300, 301, 500, 501, 700, 701, 828):
        inside = page.inside(pages)
        assert kdp_inside(pages) <= inside <= inside_margin(pages) + page.margins / 2
        assert page.margins - inside >= SAFE
    assert page.foot > page.folio > SAFE
    assert page.lines > 20 or page.trim.height < 500


def test_left_and_right_pages_mirror_each_other(novel: Rendered) -> None:
    pages = novel.printed.pages
    inside = geometry(novel.settings, "6x9").inside(len(pages))
    edges = {index % 2: left_edge(page) for index, page in enumerate(pages) if len(body(page)) > 20}

    assert edges[0] == pytest.approx(inside)
    assert edges[1] == pytest.approx(geometry(novel.settings, "6x9").margins - inside)


def test_more_pages_move_the_text_without_changing_a_line_break(novel: Rendered) -> None:
    page = geometry(novel.settings, "6x9")

    assert page.inside(800) > page.inside(200)
    assert page.measure == page.trim.width - page.margins


def test_a_note_is_on_the_page_that_calls_it(make: Make) -> None:
    layout = render(make(PROSE + "\n\n" + f"{PROSE}[^1]\n\n{PROSE}\n\n[^1]: The note itself.")).layout
    (page,) = [page for page in layout.pages if any("The note itself" in mark.line.text for _, mark in body(page))]

    assert any(style.rise for _, mark in body(page) for style, _ in mark.line.segments)


def test_a_note_longer_than_the_page_goes_to_the_end_of_the_chapter(make: Make) -> None:
    layout = render(make(f"Called.[^1]\n\n{PROSE}\n\n[^1]: {PROSE * 6}")).layout
    headings = [mark.line.text for page in layout.pages for _, mark in body(page) if mark.element.role == "H2"]

    assert headings == ["Notes"]


def test_a_long_table_repeats_its_header_on_every_page(make: Make) -> None:
    table = "| Item | Count |\n|---|---|\n" + "\n".join(f"| thing {n} | {n} |" for n in range(120))
    layout = render(make(f"Before.\n\n{table}")).layout
    pages = [page for page in layout.pages if any("thing" in text for text in texts(page))]

    assert len(pages) > 2
    assert all("Item" in texts(page) for page in pages)


def opening(text: str, make: Make, language: str = "en") -> list[TextMark]:
    """The lines of a chapter's first page, including the drop cap."""
    layout = render(make(text, language=language), ExportSettings(drop_caps=True)).layout
    page = next(page for page in layout.pages if page.anchors)
    return [mark for _, mark in body(page) if mark.element.role == "P"]


@pytest.mark.parametrize(
    ("text", "small"),
    [
        ("Then we lost it.", "Then we lost it."),
        ("Then we lost it all again.", "Then we lost it all again."),
        ("Then we lost it, and nobody said so.", "Then we lost it,"),
        ("“Who goes there, in this weather?”", "“Who goes there,"),
        ("No.", "No."),
        ("The boat came in and the boat went out and nobody saw her.", "The boat came in"),
        ("14 November 1974", ""),
        ("Dear Miss Torrence,", ""),
        ("*For Wren.*", ""),
        ("- Then we lost it.", ""),
        ("> Then we lost it.", ""),
    ],
)
def test_every_chapter_opens_with_small_capitals_if_it_opens_with_a_sentence(text: str, small: str, make: Make) -> None:
    layout = render(make(f"{text}\n\n{PROSE}", PROSE)).layout
    capitals = layout.typeface.style(small_caps=True)
    first = next(page for page in layout.pages if page.chapter == 1)
    segments = [each for _, mark in body(first) if mark.element.role != "H1" for each in mark.line.segments]

    assert (
        "".join(
            item if isinstance(item, str) else " " for style, items in segments if style is capitals for item in items
        ).strip()
        == small
    )


def test_a_drop_cap_indents_three_lines(make: Make) -> None:
    letter, *lines = opening(PROSE, make)

    assert (letter.line.text, letter.size > 30) == ("T", True)
    assert [line.line.x > 10 for line in lines[:4]] == [True, True, True, False]


@pytest.mark.parametrize("letter", ["Q", "“Q", "Ç", "Д"])
def test_a_drop_cap_with_a_tail_indents_a_fourth_line(letter: str, make: Make) -> None:
    first, *lines = opening(letter + PROSE[1:], make)

    assert first.line.text == letter
    assert [line.line.x > 10 for line in lines[:5]] == [True, True, True, True, False]


def test_a_drop_cap_keeps_its_combining_marks(make: Make) -> None:
    hindi = "किताब में लिखा था कि समुद्र शांत था और हवा रुकी हुई थी। " * 8

    assert opening("J\u0301" + PROSE[1:], make)[0].line.text == "J\u0301"
    assert opening(hindi, make, "hi")[0].line.text.startswith("किताब")


def test_a_right_to_left_book_is_mirrored(make: Make) -> None:
    arabic = "كان يا ما كان في قديم الزمان ملك عظيم يحكم مدينة كبيرة بجانب البحر. " * 20
    layout = render(make(arabic, arabic, language="ar")).layout
    first = next(page for page in layout.pages if page.anchors)
    last_lines = [mark.line for page in layout.pages for _, mark in body(page) if mark.line.tail.value == "end"]

    assert layout.rtl
    assert left_edge(first) > 0
    assert any(line.x > 50 for line in last_lines)  # a short last line is aligned right


def furniture(page: object) -> list[TextMark]:
    return [placed.mark for placed in page.placed if isinstance(placed.mark, TextMark) and placed.mark.element is None]  # type: ignore[attr-defined]


def texts(page: object) -> list[str]:
    return [placed.mark.line.text for placed in page.placed if isinstance(placed.mark, TextMark)]  # type: ignore[attr-defined]


def left_edge(page: object) -> float:
    return min(placed.x for placed in page.placed if isinstance(placed.mark, TextMark))  # type: ignore[attr-defined]


def test_a_hard_line_break_is_kept(make: Make) -> None:
    layout = render(make("Dear Sir,  \nyours in haste and with the *best* of wishes.")).layout
    said = [mark.line.text for page in layout.pages if page.kind == "chapter" for _, mark in body(page)]

    assert said[1:] == ["Dear Sir,", "yours in haste and with the best of wishes."]
