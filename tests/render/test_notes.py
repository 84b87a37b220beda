"""A note that is called twice stands once."""

from __future__ import annotations

import io
import re
import zipfile

from tests.render.conftest import Make, render
from tests.render.measuring import body

TWICE = "Once.[^1] Another.[^2] And again.[^1]\n\n[^1]: The first note.\n[^2]: The second note."


def test_a_page_has_it_once(make: Make) -> None:
    lines = [mark.line.text for page in render(make(TWICE)).layout.pages for _, mark in body(page)]

    assert sum("The first note" in line for line in lines) == 1
    assert sum("The second note" in line for line in lines) == 1


def test_every_place_in_the_epub_has_a_name_of_its_own(make: Make) -> None:
    with zipfile.ZipFile(io.BytesIO(render(make(TWICE)).epub)) as package:
        page = package.read("EPUB/chapter001.xhtml").decode()
    names = re.findall(r'\bid="([^"]+)"', page)

    assert len(names) == len(set(names))
    assert page.count('role="doc-noteref"') == 3


def test_word_gets_one_mark_for_each_note_and_a_number_for_the_rest(make: Make) -> None:
    with zipfile.ZipFile(io.BytesIO(render(make(TWICE)).docx)) as package:
        text = package.read("word/document.xml").decode()

    assert re.findall(r'<w:footnoteReference w:id="(\d)"/>', text) == ["1", "2"]
    assert '<w:rStyle w:val="FootnoteReference"/></w:rPr><w:t xml:space="preserve">1</w:t>' in text
