"""Quotations, lists, tables and headings are set as good books set them."""

from __future__ import annotations

import io
import math
import random
import re
import zipfile
from itertools import pairwise

import docx
import pytest

from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.lines import Tail
from bookgen.render.model import Manuscript, Table, announces, needs_space_above
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.test_docx import of_style
from tests.render.test_epub import text_of
from tests.render.test_sent_markdown import SENTENCE, chapter, left_edges, lines

LONG = SENTENCE * 2


def test_short_paragraphs_of_a_letter_and_the_one_after_them_have_no_indent(make: Make) -> None:
    parts = ["Dear Tom,", LONG, f"And {LONG}", "4.2.0", "3.1.0", "Yours,"]
    book = render(make("It said:\n\n" + "\n>\n".join(f"> {part}" for part in parts)))
    edges = left_edges(book.layout)

    assert len({edges[line] for line in ("Dear Tom,", "4.2.0", "3.1.0", "Yours,")}) == 1
    (after,) = [edge for line, edge in edges.items() if line.startswith("The harbour") and line != "The harbour"][:1]
    assert after == edges["Dear Tom,"]
    (indented,) = [edge for line, edge in edges.items() if line.startswith("And The")]
    assert indented > edges["Dear Tom,"]
    assert [f'<p class="flush">{part.strip()}' in chapter(book) for part in parts] == [
        True,
        True,
        False,
        True,
        True,
        True,
    ]


def pages_of(book: Rendered) -> list[list[str]]:
    """The lines of each page of the chapters, without list numbers."""
    pages: dict[int, list[str]] = {}
    for page, line in lines(book.layout):
        if not line.rstrip(".").isdigit():
            pages.setdefault(id(page), []).append(line)
    return list(pages.values())


def test_a_warning_has_space_around_it_in_every_format(make: Make) -> None:
    book = render(make("Saw the branch.\n\n**Warning.** Heavy wood falls.\n\nThen seal it.\n\nAnd rest."))
    baselines = {mark.line.text: y for page in book.layout.pages for y, mark in body(page)}
    edges = left_edges(book.layout)
    lead = baselines["Then seal it."] - baselines["And rest."]
    styles = {
        each.text: (each.style.name, each.paragraph_format.space_before, each.paragraph_format.space_after)
        for each in docx.Document(io.BytesIO(book.docx)).paragraphs
    }

    gaps = [above - below for above, below in pairwise(list(baselines.values())[-4:])]
    assert gaps == pytest.approx([2 * lead, 2 * lead, lead])
    assert edges["Warning. Heavy wood falls."] == edges["Then seal it."] < edges["And rest."]
    name, before, after = styles["Warning. Heavy wood falls."]
    assert (name, before, after) == ("Book First", after, before)
    assert before.pt == pytest.approx(lead, abs=0.1)
    assert styles["Then seal it."][0] == "Book First"
    assert '<p class="apart"><strong>Warning.</strong> Heavy' in chapter(book)


@pytest.mark.parametrize(
    "text",
    [
        "**Anna:** You came.\n\n**Bert:** I walked.",
        "**Salt.** From the sea.\n\n**Sugar.** From a beet.",
        "He **never** came.\n\nShe did.",
        "**Nobody knew why the harbour had been closed that year.** It rained.\n\nOn.",
        "**Warning.**\n\nOn.",
        "> **Warning.** Heavy wood falls.\n\nOn.",
    ],
)
def test_a_play_a_glossary_and_words_in_bold_get_no_space(text: str, make: Make) -> None:
    book = render(make(text))

    assert 'class="apart"' not in chapter(book)


@pytest.mark.parametrize("label", ["**FORM 4A: RESPONSE FORM**", "**3 March 1911.**"])
def test_a_line_in_bold_has_space_above_it_and_stays_with_the_text_below(label: str, make: Make) -> None:
    text = label.strip("*")
    book = render(make(f"Saw the branch.\n\n{label}\n\nThen seal it.\n\nAnd rest.\n\nAnd sleep."))
    baselines = {mark.line.text: y for page in book.layout.pages for y, mark in body(page)}
    edges = left_edges(book.layout)
    paragraphs = {each.text: each for each in docx.Document(io.BytesIO(book.docx)).paragraphs}
    spaces = paragraphs[text].paragraph_format
    lead = baselines["And rest."] - baselines["And sleep."]
    gaps = [above - below for above, below in pairwise(list(baselines.values())[-5:])]

    assert gaps == pytest.approx([2 * lead, lead, lead, lead])
    assert edges[text] == edges["Then seal it."] < edges["And rest."]
    assert (spaces.space_before.pt, spaces.space_after.pt) == (pytest.approx(lead, abs=0.1), 0)
    assert (spaces.keep_with_next, spaces.first_line_indent) == (True, 0)
    assert paragraphs["Then seal it."].style.name == "Book First"
    assert f'<p class="label"><strong>{text}</strong>' in chapter(book)
    assert "p.label, p.kept { break-after: avoid" in text_of(book.epub, "EPUB/style.css")


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("**ANNA**\n\nCome.", False),
        ("So.\n\n## Two\n\n**ANNA**\n\nCome.", False),
        ("So.\n\n**ANNA**\n\nCome.", True),
        ("So.\n\n**Stop!**\n\nShe did.", False),
        ("So.\n\n**He was dead.**\n\nShe was not.", False),
        (f"So.\n\n**{'WORD ' * 12}**\n\nShe did.", False),
        ("So.\n\n*Later*\n\nShe did.", False),
    ],
)
def test_only_a_label_in_bold_below_other_text_gets_space(text: str, space: bool, make: Make) -> None:
    (section,) = make(text).chapters

    assert any(needs_space_above(section.blocks, index) for index in range(len(section.blocks))) == space


@pytest.mark.parametrize("line", ["**FORM 4A**", "**Stop!**", "*Later*"])
@pytest.mark.parametrize("outer", ["", "> "])
def test_a_short_line_in_bold_or_italics_is_never_the_last_of_its_page(line: str, outer: str, make: Make) -> None:
    text = line.strip("*")
    parted = [
        above
        for above in range(18, 36)
        if any(
            page[-1] == text
            for page in pages_of(
                render(make("\n\n".join([*["A line."] * above, f"{outer}{line}\n{outer}\n{outer}Below.", "A line."])))
            )
        )
    ]
    book = render(make(f"A line.\n\n{outer}{line}\n{outer}\n{outer}Below."))
    kept = [each for each in docx.Document(io.BytesIO(book.docx)).paragraphs if each.text == text]

    assert parted == []
    assert [each.paragraph_format.keep_with_next for each in kept] == [True]
    assert re.search(f'class="[a-z ]*(kept|label)"><(em|strong)>{text}', chapter(book))


def test_a_long_run_of_lines_in_italics_may_be_parted(make: Make) -> None:
    (section,) = make("So.\n\n" + "*Are you there?*\n\n" * 5 + "No.").chapters

    assert [announces(section.blocks, index) for index in range(7)] == [False, True, False, False, False, True, False]


@pytest.mark.parametrize("outer", ["- ", "> "])
def test_an_item_or_a_quoted_line_that_ends_in_a_colon_stays_with_what_it_announces(outer: str, make: Make) -> None:
    things = "\n".join(f"{' ' * len(outer) if outer == '- ' else outer}- Thing {number}." for number in range(12))
    blank = "" if outer == "- " else ">\n"
    parted = [
        above
        for above in range(18, 42)
        if not any(
            {"Bring these:", "Thing 0."} <= set(page)
            for page in pages_of(
                render(make("\n\n".join([*["A line."] * above, f"{outer}Bring these:\n{blank}{things}", "Done."])))
            )
        )
    ]

    assert parted == []


def test_word_keeps_an_item_that_ends_in_a_colon_with_its_own_list(make: Make) -> None:
    book = render(make("- More.\n" * 12 + "- Before the last day:\n  - A saw.\n  - A rope.\n" + "- More.\n" * 12))
    document = docx.Document(io.BytesIO(book.docx))
    items = of_style(document, "Book List")[1:-2]  # the first two and the last two are always kept together
    kept = {item.text.strip("•–\t "): item.paragraph_format.keep_with_next for item in items}

    assert kept["Before the last day:"]
    assert not kept["More."]


@pytest.mark.parametrize("above", range(8))
def test_no_item_of_a_list_is_alone_on_its_page(above: int, make: Make) -> None:
    steps = "\n".join(f"1. Step number {number} of the work." for number in range(1, 28))
    book = render(make("\n\n".join([*["A line."] * above, "So:", steps, "It is done."])))
    counts = [sum(line.startswith("Step") for line in page) for page in pages_of(book)]

    assert 1 not in counts


@pytest.mark.parametrize("above", range(14, 24))
def test_a_short_list_is_kept_on_one_page_as_long_as_it_leaves_no_large_gap(above: int, make: Make) -> None:
    steps = "\n".join(f"1. Step number {number} of the work." for number in range(1, 7))
    book = render(make("\n\n".join([*["A line."] * above, steps, *["A line."] * 30])))
    counts = [sum(line.startswith("Step") for line in page) for page in pages_of(book)]

    assert sorted(counts)[-1] == 6


@pytest.mark.parametrize(
    ("cells", "align"),
    [
        (("84", "28", "112"), "right"),
        (("1,250.5", "–", "−3 %"), "right"),
        (("£4", "£12", ""), "right"),
        (("84", "28 g", "112"), "left"),
        (("84", "", ""), "left"),
        (("`84`", "`28`", "`112`"), "left"),
    ],
)
def test_a_column_of_numbers_is_aligned_at_the_right(cells: tuple[str, ...], align: str, make: Make) -> None:
    rows = "\n".join(f"| Saltern {number} | {cell} |" for number, cell in enumerate(cells))
    book = make(f"| Place | Pans |\n|---|---|\n{rows}\n")
    marked = make(f"| Place | Pans |\n|---|:-:|\n{rows}\n")

    assert [table.aligns for table in tables(book)] == [("left", align)]
    assert [table.aligns for table in tables(marked)] == [("left", "center")]


def tables(book: Manuscript) -> list[Table]:
    return [block for chapter in book.chapters for block in chapter.blocks if isinstance(block, Table)]


@pytest.mark.parametrize("above", range(18, 42))
def test_a_label_of_a_few_lines_in_a_quotation_is_not_divided(above: int, make: Make) -> None:
    label = "> NO. 0119\n>\n> UNIT 6, LEVEL 2\n>\n> ONE OF A PAIR\n>\n> FOUND BY"
    book = render(make("\n\n".join([*["A line."] * above, label, "You know how to spell it.", "You press hard."])))
    pages = [page for page in pages_of(book) if {"NO. 0119", "FOUND BY"} & {*page}]

    assert len(pages) == 1


def test_word_keeps_the_ends_of_a_long_list_and_the_whole_of_a_short_one(make: Make) -> None:
    long, short = ("\n".join(f"1. {name} {number}" for number in range(size)) for name, size in (("Do", 12), ("Go", 3)))
    document = docx.Document(io.BytesIO(render(make(f"{long}\n\nThen:\n\n{short}")).docx))
    kept = [bool(item.paragraph_format.keep_with_next) for item in of_style(document, "Book List")]

    assert kept == [True, *[False] * 9, True, False, True, True, False]


def test_items_that_are_set_longer_to_fill_a_page_keep_their_numbers(make: Make) -> None:
    drawn = random.Random(1)
    words = re.findall(
        r"\w+",
        "the harbour was quiet in evening and she could remember it otherwise or so it was said "
        "then by all people who lived near old mill above river",
    )
    items = ["1. " + " ".join(drawn.choices(words, k=drawn.randint(30, 75))) for _ in range(180)]
    book = render(make("\n".join(items)))

    assert sum(line.rstrip(".").isdigit() for _, line in lines(book.layout)) == 180


def test_the_rows_of_a_table_are_even_and_the_text_below_is_on_the_grid(make: Make) -> None:
    rows = "\n".join(f"| {'Words of a cell that turns. ' * length} | b |" for length in (4, 1, 8, 4, 1, 6))
    book = render(make(f"{LONG}\n\n| A | B |\n|---|---|\n{rows}\n\n{LONG}"))
    page = next(page for page in book.layout.pages if page.kind == "chapter")
    texts = [(y, mark.element.role if mark.element else "", mark) for y, mark in body(page)]
    cells = [y for y, role, mark in texts if role == "TD" and mark.line.text != "b"]
    starts = [y for y, role, mark in texts if role == "TD" and mark.line.text == "b"]
    steps = {round(above - y, 2): y in starts for above, y in pairwise(cells)}
    prose = {round(math.fmod(y, geometry(book.settings, "6x9").lead), 2) for y, role, _ in texts if role == "P"}

    assert sorted(steps.values()) == [False, True]
    assert max(steps) in [step for step, starts_row in steps.items() if starts_row]
    assert len(prose) == 1


def test_a_heading_is_closer_to_the_text_that_it_heads(make: Make) -> None:
    book = render(make("Before.\n\n## Heading\n\nAfter.\n\nMore."))
    page = next(page for page in book.layout.pages if page.kind == "chapter")
    height = {mark.line.text: y for y, mark in body(page)}
    style = docx.Document(io.BytesIO(book.docx)).styles["Heading 2"].paragraph_format

    assert height["Before."] - height["Heading"] > height["Heading"] - height["After."] + 5
    assert (height["Before."] - height["More."]) / geometry(book.settings, "6x9").lead == pytest.approx(5)
    assert style.space_before > style.space_after


@pytest.mark.parametrize(("word", "is_divided"), [("incomprehensibilities ", True), ("INCOMPREHENSIBILITIES ", False)])
def test_a_word_in_capitals_is_not_hyphenated(word: str, is_divided: bool, make: Make) -> None:
    book = render(make("".join(f"{word}{number} " for number in range(60))))
    tails = [mark.line.tail for page in book.layout.pages if page.kind == "chapter" for _, mark in body(page)]

    assert (Tail.HYPHEN in tails) == is_divided


@pytest.mark.parametrize(("language", "is_indented"), [("es", True), ("en", False)])
def test_speech_with_a_dash_is_indented_below_a_quotation_but_not_at_a_beginning(
    language: str, is_indented: bool, make: Make
) -> None:
    speech = ["—Uno.", "> Dice.", "—Dos.", "***", "—Tres."]
    book = render(make("\n\n".join(speech), language=language))
    edges = left_edges(book.layout)
    document = docx.Document(io.BytesIO(book.docx))
    styles = {each.text: each.style.name for each in document.paragraphs}
    with zipfile.ZipFile(io.BytesIO(book.epub)) as package:
        sheet = package.read("EPUB/style.css").decode()

    assert (edges["—Dos."] > edges["—Tres."]) == is_indented
    assert edges["—Uno."] == edges["—Tres."]
    assert [styles[text] for text in ("—Uno.", "—Dos.", "—Tres.")] == [
        "Book First",
        "Book Body" if is_indented else "Book First",
        "Book First",
    ]
    assert chapter(book).count('<p class="speech">') == 1
    assert ("p.speech" in sheet) == is_indented


@pytest.mark.parametrize(("language", "title"), [("es", "©"), ("en", "Copyright"), ("ru", "Авторское право")])
def test_the_copyright_page_of_an_epub_has_a_title_in_the_books_language(language: str, title: str, make: Make) -> None:
    page = text_of(render(make("Uno.", language=language)).epub, "EPUB/copyright.xhtml")

    assert f"<title>{title}</title>" in page
