"""A note is printed once, wherever and however often it is called."""

from __future__ import annotations

import io
import re
import zipfile

from bookgen.render.layout.notes import note_spans
from bookgen.render.model import Span, Table
from tests.render.conftest import Make, render
from tests.render.measuring import body, overlaps

TWICE = "Once.[^1] Another.[^2] And again.[^1]\n\n[^1]: The first note.\n[^2]: The second note."


def test_a_note_called_twice_on_a_page_is_printed_once(make: Make) -> None:
    lines = [mark.line.text for page in render(make(TWICE)).layout.pages for _, mark in body(page)]

    assert sum("The first note" in line for line in lines) == 1
    assert sum("The second note" in line for line in lines) == 1


def test_every_id_in_an_epub_page_is_unique(make: Make) -> None:
    with zipfile.ZipFile(io.BytesIO(render(make(TWICE)).epub)) as package:
        page = package.read("EPUB/chapter001.xhtml").decode()
    names = re.findall(r'\bid="([^"]+)"', page)

    assert len(names) == len(set(names))
    assert page.count('role="doc-noteref"') == 3


def test_the_docx_has_one_reference_for_each_note_and_plain_numbers_for_the_rest(make: Make) -> None:
    with zipfile.ZipFile(io.BytesIO(render(make(TWICE)).docx)) as package:
        text = package.read("word/document.xml").decode()

    assert re.findall(r'<w:footnoteReference w:id="(\d)"/>', text) == ["1", "2"]
    assert '<w:rStyle w:val="FootnoteReference"/></w:rPr><w:t xml:space="preserve">1</w:t>' in text


IN_A_NOTE = "Here.[^1]\n\n[^1]: The first note.[^2]\n\n[^2]: Only the first one calls it.[^3]\n\n[^3]: Nor this."


def test_a_note_called_by_another_note_is_placed_below_it(make: Make) -> None:
    rendered = render(make(IN_A_NOTE))
    *_, first, second, third = [mark.line.text for page in rendered.layout.pages for _, mark in body(page)]

    assert ("The first" in first, "Only the first" in second, "Nor this" in third) == (True, True, True)
    with zipfile.ZipFile(io.BytesIO(rendered.docx)) as package:
        notes = package.read("word/footnotes.xml").decode()
    assert notes.count("Only the first one calls it.") == notes.count("Nor this.") == 1
    assert notes.index("The first note.") < notes.index("Only the first one calls it.") < notes.index("Nor this.")


def test_notes_that_do_not_fit_on_a_page_go_to_the_end_of_the_chapter(make: Make) -> None:
    note = "A note of some length that takes its room at the foot of the page on which it was called. " * 9
    calls = "".join(f"[^{number}]" for number in range(1, 5))
    text = f"Called{calls} at once.\n\n" + "\n\n".join(f"[^{number}]: {note}" for number in range(1, 5))
    layout = render(make(text)).layout

    assert [pair for page in layout.pages for pair in overlaps(page)] == []
    assert sum("A note of some length" in mark.line.text for page in layout.pages for _, mark in body(page)) >= 4


def test_a_note_called_only_by_an_unused_note_is_not_in_the_epub(make: Make) -> None:
    with zipfile.ZipFile(
        io.BytesIO(render(make("Text.\n\n[^1]: Uncalled.[^2]\n\n[^2]: Lost with it.")).epub)
    ) as package:
        page = package.read("EPUB/chapter001.xhtml").decode()

    assert "<aside" not in page


def test_a_table_in_a_note_becomes_text_cell_by_cell(make: Make) -> None:
    (_, note) = note_spans((Table(("left",), ((Span("head"),),), (((Span("cell"),),),)),))[::2]

    assert note.text == "cell"
