"""A book of verse is set as its author wrote it: line by line, poem by poem."""

from __future__ import annotations

import io

import docx
import pytest

from bookgen.render.markdown import parse
from bookgen.render.model import Heading, Verse
from tests.render.conftest import Make, render
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
    word = {p.text: p.paragraph_format.left_indent for p in docx.Document(io.BytesIO(book.docx)).paragraphs}

    assert said[0] + 10 < said[1] < said[2] - 10
    assert word["So I am fifty-two"] < word["out from the slip"] < word["before I do it,"]
    assert '<span>So I am fifty-two</span><br/><span style="margin-inline-start: 3.2em">before' in chapter(book)


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
