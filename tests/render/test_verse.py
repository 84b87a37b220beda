"""A book of verse is set as its author wrote it: line by line, poem by poem."""

from __future__ import annotations

import io
import re

import docx
import pytest
from docx.shared import Pt

from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.word_metrics import SPACE_WIDTH
from bookgen.render.markdown import parse
from bookgen.render.model import Heading, Span, Verse
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.reading import PdfText
from tests.render.test_docx import of_style
from tests.render.test_epub import HTML, parsed, text_of
from tests.render.test_sent_markdown import SENTENCE, chapter, left_edges, lines

STEPS = "So I am fifty-two\n        before I do it,\n    *out* from the slip"
LONG_WORD = "incomprehensibilities "


@pytest.mark.parametrize(
    "stanza",
    [
        "1953. The mark is on the door,\nwaist-high",
        "    You go in to the knee,\n    he says",
        "- that is all -\n- that is all -",
        "a tick.",
        "He stops\n---",
    ],
    ids=["a year", "an indent", "dashes", "a line alone", "a rule below"],
)
def test_a_stanza_is_verse_whatever_its_lines_begin_with(stanza: str) -> None:
    (verse,), _ = parse(stanza, "The Tide", lambda each: each, verse=True)

    assert isinstance(verse, Verse)
    assert ["".join(span.text for span in line) for line in verse.lines] == [
        line.strip() for line in stanza.split("\n") if line != "---"
    ]


def test_a_bold_line_over_a_stanza_is_the_title_of_a_poem() -> None:
    title, verse = parse("**Mud**\n\nNot drink.\nNot boys.", "The Tide", lambda each: each, verse=True)[0]

    assert isinstance(title, Heading)
    assert isinstance(verse, Verse)


def test_verse_lines_keep_their_indents_in_every_format(make: Make) -> None:
    book = render(make(STEPS, genre="Poetry"))
    edges = left_edges(book.layout)
    said = [edges[line] for line in ("So I am fifty-two", "out from the slip", "before I do it,")]
    word = {line: start for line, (start, _) in word_edges(book).items()}

    assert said[0] + 10 < said[1] < said[2] - 10
    assert word["So I am fifty-two"] < word["out from the slip"] < word["before I do it,"]
    assert list(epub_edges(book).values()) == [(0.0, 4.7), (3.2, 4.7), (1.6, 4.7)]


def word_edges(book: Rendered) -> dict[str, tuple[int, int]]:
    """The indents of each verse line and of its continuation."""
    shown = of_style(docx.Document(io.BytesIO(book.docx)), "Book Verse")
    formats = {paragraph.text: paragraph.paragraph_format for paragraph in shown}
    return {text: (each.left_indent + each.first_line_indent, each.left_indent) for text, each in formats.items()}


def epub_edges(book: Rendered) -> dict[str, tuple[float, float]]:
    """The indents in ems of each verse line and of its continuation."""
    found = {}
    for line in parsed(chapter(book)).iter(f"{HTML}span"):
        if line.getparent().tag == f"{HTML}p":
            values = dict(re.findall(r"([a-z-]+): (-?[0-9.]+)em", line.get("style", "")))
            start, hang = float(values.get("margin-inline-start", 0.0)), values.get("padding-inline-start", "3.1")
            assert values.get("text-indent", "-3.1") == f"-{hang}"
            found["".join(line.itertext())] = (start, round(start + float(hang), 2))
    return found


LONG = "a line that has to turn because it is too long for the page of any book that is made for a hand to hold it"
HEBREW = " ".join(["שורה שחייבת להישבר כי היא ארוכה"] * 3)


def stepped(line: str) -> str:
    """A poem with indents and lines that turn."""
    return f"{line}\n    {line} i\n            {line} ii\n\n{line} iii"


def insets(book: Rendered, *, rtl: bool = False) -> tuple[list[float], list[float]]:
    """How far the verse lines begin, and their continuations, from the edge of the text, in points."""
    measure = geometry(book.settings, book.manuscript.trim).measure
    own, turned = [], []
    for page in book.layout.pages:
        for _, mark in body(page) if page.kind == "chapter" else []:
            if mark.element is not None and mark.element.role == "P":
                left = mark.x + mark.line.x
                (turned if mark.line.word else own).append(measure - left - mark.line.width if rtl else left)
    return own, turned


@pytest.mark.parametrize(("line", "language"), [(LONG, "en"), (HEBREW, "he")])
def test_a_long_line_turns_further_in_than_any_line_of_its_poem(line: str, language: str, make: Make) -> None:
    book = render(make(stepped(line), genre="Poetry", language=language))
    own, turned = insets(book, rtl=language == "he")
    word = word_edges(book).values()

    assert len(own) == 4
    assert max(own) + 10 < min(turned)
    assert max(turned) - min(turned) < 8  # a full stop or a letter that hangs
    assert max(start for start, _ in word) < min(turn for _, turn in word) == max(turn for _, turn in word)
    assert list(epub_edges(book).values()) == [(0.0, 6.3), (1.6, 6.3), (4.8, 6.3), (0.0, 6.3)]


def test_a_turned_line_is_not_mistaken_for_the_indent_of_another_poem(make: Make) -> None:
    book = render(make(f"## One\n\n{LONG}\n\n## Two\n\nA line\n    and its indent", genre="Poetry"))
    own, turned = insets(book)
    word = word_edges(book)

    assert max(own) + 10 < min(turned)
    assert word["and its indent"][0] < word[LONG][1]
    assert epub_edges(book) == {LONG: (0.0, 3.1), "A line": (0.0, 3.1), "and its indent": (1.6, 3.1)}


@pytest.mark.parametrize("points", [8.0, 18.0])
def test_a_deep_indent_leaves_room_for_the_line_on_a_small_page(points: float, make: Make) -> None:
    settings = ExportSettings(font_size=points)
    book = render(make(f"{LONG}\n{' ' * 30}{LONG} i", genre="Poetry", trim="5x8"), settings)
    measure = geometry(settings, "5x8").measure
    own, turned = insets(book)
    ((_, turn), (_, deep)) = epub_edges(book).values()

    assert max(*own, *turned) < measure * 0.51
    assert {mark.line.expansion for page in book.layout.pages for _, mark in body(page)} == {100.0}
    assert max(each for edges in word_edges(book).values() for each in edges) < Pt(measure * 0.51)
    assert (turn, deep) == (7.9, 13.5)


def test_verse_among_prose_turns_as_before(make: Make) -> None:
    book = render(make(f"> {LONG}  \n> b  \n> c"))

    assert f"<span>{LONG}</span>" in chapter(book)
    assert "p.poem >" not in text_of(book.epub, "EPUB/style.css")


@pytest.mark.parametrize("line", ['*"Who goes there?"*', '_"Who goes there?"_'])
def test_an_indented_line_may_begin_with_emphasis(line: str) -> None:
    (verse,), _ = parse(f"He said:\n    {line}", "The Tide", lambda each: each, verse=True)

    assert isinstance(verse, Verse)
    assert (verse.lines[1], verse.indents) == ((Span('"Who goes there?"', italic=True),), (0, 4))


@pytest.mark.parametrize("blank", ["&nbsp;", "\u00a0", "[^1]"], ids=["an entity", "a character", "a note"])
def test_a_line_without_words_keeps_the_indents_of_the_lines_below_it(blank: str) -> None:
    stanza = f"The wall\n{blank}\n    stands\nalone\n\n[^1]: A note."
    (verse, *_), _ = parse(stanza, "The Tide", lambda each: each, verse=True)

    assert isinstance(verse, Verse)
    assert [verse.indent(line) for line in range(len(verse.lines))] == [0, 0, 1.6, 0]


def test_no_word_of_a_turned_verse_line_is_divided(make: Make) -> None:
    said = [text for _, text in lines(render(make(f"One\n{LONG_WORD * 20}\nThree", genre="Poetry")).layout)]

    assert len(said) > 5
    assert {word for text in said[-5:-1] for word in text.split()} == {LONG_WORD.strip()}


def test_a_line_alone_has_the_left_edge_of_the_stanza_above_it(make: Make) -> None:
    edges = left_edges(render(make("One,\ntwo,\n\nthree.", genre="Poetry")).layout)

    assert edges["One,"] == edges["two,"] == edges["three."]


def test_a_poem_that_fits_a_page_is_not_divided(make: Make) -> None:
    poems = [f"## Poem {poem}\n\n" + "\n".join(f"Line {poem}.{line}" for line in range(20)) for poem in range(6)]
    book = render(make("\n\n".join(poems), genre="Poetry"))
    pages: dict[str, set[str]] = {}
    for page, text in lines(book.layout):
        if text.startswith("Line "):
            pages.setdefault(text.split(".")[0], set()).add(page.label)
    word = [p for p in docx.Document(io.BytesIO(book.docx)).paragraphs if p.text.startswith("Line ")]

    assert [len(labels) for labels in pages.values()] == [1] * 6
    assert [bool(p.paragraph_format.keep_with_next) for p in word] == ([True] * 19 + [False]) * 6


def test_a_poem_that_is_longer_than_a_page_is_divided_between_stanzas(make: Make) -> None:
    stanzas = "\n\n".join("\n".join(f"Line {stanza}.{line}" for line in range(6)) for stanza in range(14))
    pages: dict[str, set[str]] = {}
    for page, text in lines(render(make(f"## Poem\n\n{stanzas}\n\n{SENTENCE}", genre="Poetry")).layout):
        if text.startswith("Line "):
            pages.setdefault(text.split(".")[0], set()).add(page.label)

    assert len({label for labels in pages.values() for label in labels}) > 2
    assert [len(labels) for labels in pages.values()] == [1] * 14


GAPS = "Said    the *Ouse*[^1]  to \tthe Trent\nand again\n\n[^1]: A river."


def test_wide_spaces_within_a_line_are_kept_in_every_format(make: Make) -> None:
    book = render(make(GAPS, genre="Poetry"))
    (line,) = [text for _, text in lines(book.layout) if text.startswith("Said")]
    word = of_style(docx.Document(io.BytesIO(book.docx)), "Book Verse")[0].text
    (shown,) = [text for text in epub_edges(book) if text.startswith("Said")]
    preview = "".join(page["html"] for page in html_pages(book.layout))

    assert line == "Said\u00a0\u00a0\u00a0 the Ouse1\u00a0 to\u00a0\u00a0\u00a0\u00a0 the Trent"
    assert shown == line
    assert word == "Said    the Ouse  to     the Trent"
    assert "Said\u00a0\u00a0\u00a0 the " in preview
    assert "Said    the Ouse1  to     the Trent" in "".join(node.text for node in PdfText(book.pdf).tree.walk())


@pytest.mark.parametrize("before", ["", "שלום "], ids=["from the left", "from the right"])
def test_a_wide_space_has_the_width_of_its_spaces(before: str, make: Make) -> None:
    """Up to that of the deepest indent."""
    widths = {}
    for spaces in (1, 2, 30, 50):
        book = render(make(f"{before}a{' ' * spaces}b", genre="Poetry", language="he" if before else "en"))
        (mark,) = [mark for page in book.layout.pages for _, mark in body(page) if "b" in mark.line.text.split()]
        widths[spaces] = mark.line.width

    assert widths[2] - widths[1] == pytest.approx(SPACE_WIDTH / 1000 * 10.5)
    assert widths[30] - widths[1] == pytest.approx(29 * (widths[2] - widths[1]))
    assert widths[50] == widths[30]


def test_a_line_may_turn_after_a_wide_space_and_within_no_word(make: Make) -> None:
    gap = " " * 30
    book = render(make(gap.join(["imperturbable"] * 4), genre="Poetry", trim="5x8"))
    found = [text for _, text in lines(book.layout) if text.startswith("imp") or text.endswith("ble")]

    assert [text.split() for text in found] == [["imperturbable"] * 2] * 2
    assert not any(text != text.strip() for text in found)


def test_wide_spaces_of_prose_are_one(make: Make) -> None:
    book = render(make("Said    the Ouse\tto the Trent  \nand    again  \nand again"))
    prose = "Said the Ouse to the Trent"

    assert prose in [text for _, text in lines(book.layout)]
    assert "\u00a0" not in chapter(book)
