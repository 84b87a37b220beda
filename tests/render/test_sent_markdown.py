"""Markdown from models and authors is rendered as intended in every format."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

import docx
import pytest

from bench.render import corpus
from bench.render.corpus import Corpus
from bookgen.render.layout.compose import Composer
from bookgen.render.layout.page import Layout, Page
from bookgen.render.layout.rows import TextMark
from bookgen.render.manuscript import manuscript
from bookgen.render.model import Figure, Heading, Paragraph, PlacedPicture, SceneBreak
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.reading import W
from tests.render.test_docx import of_style
from tests.render.test_epub import text_of
from tests.render.test_settings import red_picture

SENTENCE = "The harbour was quiet in the evening and nobody who lived there could remember it otherwise. "
ROW = "| {} | a kettle | two minutes |"
HEAD = "| Day | What | How long |\n|---|---|---|"


def lines(layout: Layout) -> Iterator[tuple[Page, str]]:
    """Every line of the chapters' text."""
    for page in layout.pages:
        if page.kind == "chapter":
            yield from ((page, mark.line.text) for _, mark in body(page))


def foot(layout: Layout) -> float:
    """How far the last line of the first page is above the edge of the paper, in points."""
    page = next(page for page in layout.pages if page.kind == "chapter")
    return min(height for height, _ in body(page))


def chapter(book: Rendered) -> str:
    """The chapter of the EPUB without its page markers."""
    return re.sub("<span[^>]*></span>", "", text_of(book.epub, "EPUB/chapter001.xhtml"))


@pytest.mark.parametrize("mark", ["*", "#", "~", "•••", "<hr>"])
def test_a_scene_break_is_a_scene_break_in_every_format(mark: str, make: Make) -> None:
    book = render(make(f"One.\n\n{mark}\n\nTwo.", "Three."))

    assert len(of_style(docx.Document(io.BytesIO(book.docx)), "Scene Break")) == 1
    assert chapter(book).count("<hr/>") == 1
    (page,) = [page for page in book.layout.pages if page.chapter == 1]
    assert [placed.mark.line.text for placed in page.placed if hasattr(placed.mark, "line")].count("* * *") == 1
    assert sum(page["html"].count("* * *") for page in html_pages(book.layout)) == 1


def test_a_rule_next_to_a_heading_or_another_rule_is_dropped(make: Make) -> None:
    (section,) = make("One.\n\n---\n\n## Two\n\n---\n\nThree.\n\n***\n\n---\n\nFour.").chapters
    kinds = [type(block) for block in section.blocks]

    assert kinds.count(SceneBreak) == 1
    assert kinds.index(SceneBreak) > kinds.index(Heading) + 1


def test_a_dropped_rule_still_counts_for_the_position_of_a_picture() -> None:
    book, (first, *_) = corpus.book(Corpus("one", chapters=1, words=10))
    chapters = [replace(first, content="One.\n\n---\n\n## Two\n\nThree.")]
    shown = PlacedPicture(first.id, 3, red_picture(), "A gate")
    (section,) = manuscript(book, chapters, author="A", watermark=False, illustrations=[shown]).chapters

    assert [type(block) for block in section.blocks] == [Paragraph, Heading, Figure, Paragraph]


@pytest.mark.parametrize("mark", ["  \n", "\\\n", "<br>", "<br/>\n", "<BR />"])
@pytest.mark.parametrize("form", ["{}", "> {}", "- {}\n- Two", "- {}\n\n- Two"])
def test_a_hard_line_break_is_kept_in_every_format(mark: str, form: str, make: Make) -> None:
    text = f"4 Elm Street{mark}Halle".replace("\n", "\n> " if form.startswith(">") else "\n  ")
    book = render(make(f"It said:\n\n{form.format(text)}"))

    assert "4 Elm Street<br/>Halle" in chapter(book)
    assert {"4 Elm Street", "Halle"} <= {text for _, text in lines(book.layout)}
    (paragraph,) = [each for each in docx.Document(io.BytesIO(book.docx)).paragraphs if "Elm" in each.text]
    assert paragraph.text.endswith("4 Elm Street\nHalle")


def test_an_item_with_several_lines_keeps_its_bullet(make: Make) -> None:
    book = render(make("1. Ada Lovelace  \n   4 Elm Street  \n   Halle\n2. Two"))
    (paragraph,) = [each for each in docx.Document(io.BytesIO(book.docx)).paragraphs if "Elm" in each.text]

    assert paragraph.text == "1.\tAda Lovelace\n4 Elm Street\nHalle"
    assert "<li>Ada Lovelace<br/>4 Elm Street<br/>Halle</li>" in chapter(book)


def test_a_line_break_in_a_cell_or_a_heading_is_kept(make: Make) -> None:
    book = render(make("## The Jar<br>Day one\n\n| a | b |\n|---|---|\n| Mix<br>Feed | x |"))
    said = [text for _, text in lines(book.layout)]

    assert {"The Jar", "Day one", "Mix", "Feed"} <= set(said)
    assert "<td>Mix<br/>Feed</td>" in chapter(book)


def test_the_line_break_of_a_wrapped_paragraph_is_a_space(make: Make) -> None:
    assert f"{SENTENCE}Nobody said so." in chapter(render(make(f"{SENTENCE}\nNobody said so.")))


def test_a_rhyme_in_a_novel_keeps_its_lines_in_every_format(make: Make) -> None:
    book = render(make("She sang.\n\n> One for the barrel,\n> one for the bin,\n> one for the sea.\n\nSo."))
    rhyme = ["One for the barrel,", "one for the bin,", "one for the sea."]
    paragraphs = of_style(docx.Document(io.BytesIO(book.docx)), "Book Verse")

    assert [text for _, text in lines(book.layout) if "one" in text.lower()] == rhyme
    assert "<br/>".join(f"<span>{line}</span>" for line in rhyme) in chapter(book)
    assert [paragraph.text for paragraph in paragraphs] == rhyme


def test_the_long_lines_of_a_log_in_a_novel_turn_in_every_format(make: Make) -> None:
    log = [f"19{minute} {'The lights fail. ' * 9}".strip() for minute in (30, 34, 40)]
    book = render(make("He read.\n\n" + "\n".join(log) + "\n\nSo."))
    edges = left_edges(book.layout)
    word = of_style(docx.Document(io.BytesIO(book.docx)), "Book Verse")
    own = [left for text, left in edges.items() if text.startswith("19")]
    turned = [left for text, left in edges.items() if "lights" in text and not text.startswith("19")]

    assert len(own) == 3
    assert max(own) + 10 < min(turned)
    assert "<br/>".join(f"<span>{line}</span>" for line in log) in chapter(book)
    assert [paragraph.text for paragraph in word] == log


def test_every_line_in_a_book_of_poems_is_a_line_of_its_own(make: Make) -> None:
    book = render(make("The tide\ncomes in\n\nand goes\nout", genre="Poetry"))

    assert '<p class="verse poem"><span>The tide</span><br/><span>comes in</span></p>' in chapter(book)
    assert [text for _, text in lines(book.layout)][-4:] == ["The tide", "comes in", "and goes", "out"]


@pytest.mark.parametrize("filler", range(0, 30, 3))
def test_a_small_table_stays_on_one_page_with_its_introduction(filler: int, make: Make) -> None:
    table = "\n".join([HEAD, *(ROW.format(f"day{each}") for each in range(6))])
    text = "\n\n".join(["Quiet."] * filler + ["It goes so:", table, SENTENCE * 20])
    layout = render(make(text), ExportSettings(font_size=11.0)).layout

    assert len({page.label for page, said in lines(layout) if said.startswith(("day", "Day", "It goes so"))}) == 1


def test_the_rows_of_a_table_are_equally_far_apart(make: Make) -> None:
    table = "| A | B |\n|---|---|\n| one<br>two | x |\n| three<br>four<br>five | y |\n| six | z |"
    layout = render(make(table)).layout

    page = next(page for page in layout.pages if page.kind == "chapter")
    at = {mark.line.text: height for height, mark in body(page)}
    assert at["two"] - at["three"] == pytest.approx(at["five"] - at["six"])
    assert at["two"] - at["three"] > at["one"] - at["two"]


@pytest.mark.parametrize("filler", range(0, 30, 3))
def test_a_larger_table_is_divided_rather_than_leave_a_third_of_a_page_empty(filler: int, make: Make) -> None:
    table = "\n".join([HEAD, *(ROW.format(f"day{each}") for each in range(12))])
    text = "\n\n".join(["Quiet."] * filler + ["It goes so:", table, SENTENCE * 20])
    full, layout = (render(make(each), ExportSettings(font_size=11.0)).layout for each in ("Quiet.\n\n" * 99, text))

    first = next(page for page in layout.pages if page.kind == "chapter")
    days = sum(said.startswith("day") for page, said in lines(layout) if page is first)
    assert days in (0, 12) or 3 <= days <= 9
    assert foot(layout) - foot(full) < full.height / 4


def test_a_long_table_repeats_its_header_on_every_page(make: Make) -> None:
    layout = Composer(make("\n".join([HEAD, *(ROW.format(each) for each in range(90))])), ExportSettings()).layout()
    pages = [page for page in layout.pages if page.kind == "chapter"]
    heads = [
        [placed.mark.line.text for placed in page.placed if hasattr(placed.mark, "line")].count("How long")
        for page in pages
    ]

    assert len(pages) > 2
    assert heads == [1] * len(pages)


def test_the_lines_of_one_cell_are_closer_together_than_two_rows(make: Make) -> None:
    layout = render(make(f"{HEAD}\n| x | one<br>two | y |\n| x | three | y |")).layout
    one, two, three = [
        y for page in layout.pages for y, mark in body(page) if mark.line.text in ("one", "two", "three")
    ]

    assert one - two < two - three


def test_word_and_e_readers_keep_a_small_table_together_and_may_break_a_long_one(make: Make) -> None:
    small, long = ("\n".join([HEAD, *(ROW.format(each) for each in range(rows))]) for rows in (9, 90))
    book = render(make(f"It goes so:\n\n{small}\n\n{long}"))
    document = docx.Document(io.BytesIO(book.docx))
    (announcing,) = [each for each in document.paragraphs if each.text == "It goes so:"]
    kept = [[row._tr.find(f".//{W}keepNext") is not None for row in table.rows] for table in document.tables]

    assert announcing.paragraph_format.keep_with_next
    assert kept == [[True] * 9 + [False], [True] + [False] * 90]
    assert [chapter(book).count(f"<table{kind}>") for kind in (' class="whole"', "")] == [1, 1]


def left_edges(layout: Layout) -> dict[str, float]:
    """The left edge of each line of the chapters."""
    return {
        placed.mark.line.text: placed.x + placed.mark.x + placed.mark.line.x
        for page in layout.pages
        for placed in page.placed
        if isinstance(placed.mark, TextMark) and page.kind == "chapter"
    }


def test_an_address_in_a_letter_is_not_indented(make: Make) -> None:
    letter = "> 4 Elm Street  \n> Halle  \n> 3 March\n>\n> Dear Tom, come.\n>\n> Yours,  \n> Anna"
    book = render(make(f"It said:\n\n{letter}"))
    edges = left_edges(book.layout)
    (signature,) = [p for p in docx.Document(io.BytesIO(book.docx)).paragraphs if p.text == "Yours,\nAnna"]

    assert len({edges[line] for line in ("4 Elm Street", "Halle", "3 March", "Yours,", "Anna")}) == 1
    assert edges["Dear Tom, come."] > edges["It said:"]
    assert '<p class="lines">Yours,<br/>Anna</p>' in chapter(book)
    assert signature.paragraph_format.first_line_indent == 0


def test_a_turned_line_of_verse_is_indented(make: Make) -> None:
    book = render(make(f"Quiet.\n\nOne  \n{SENTENCE}  \nThree"))
    edges = left_edges(book.layout)
    turned = [edge for text, edge in edges.items() if text in SENTENCE and not SENTENCE.startswith(text)]
    style = docx.Document(io.BytesIO(book.docx)).styles["Book Verse"].paragraph_format

    assert edges["One"] == edges["Three"]
    assert turned
    assert min(turned) > edges["One"] + 10
    assert style.first_line_indent < 0


def test_a_second_paragraph_in_an_item_is_indented(make: Make) -> None:
    book = render(make("- One\n\n  More\n- Two"))
    edges = left_edges(book.layout)
    (more,) = [p for p in docx.Document(io.BytesIO(book.docx)).paragraphs if p.text == "More"]

    assert edges["More"] > edges["Two"]
    assert more.paragraph_format.first_line_indent > 0


def test_a_checklist_has_boxes_instead_of_bullets_in_every_format(make: Make) -> None:
    book = render(make("You need:\n\n- [ ] Rope\n- [x] A plank"))
    said = [text for _, text in lines(book.layout)]
    paragraphs = [each.text for each in docx.Document(io.BytesIO(book.docx)).paragraphs]

    assert {"☐", "☑"} <= set(said)
    assert "•" not in said
    assert {"☐\tRope", "☑\tA plank"} <= set(paragraphs)
    assert '<ul class="boxes"><li>☐ Rope</li><li>☑ A plank</li></ul>' in chapter(book)
