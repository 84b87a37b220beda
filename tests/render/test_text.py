"""The text of every file is the manuscript, word for word."""

from __future__ import annotations

import pytest

from tests.render.conftest import Rendered
from tests.render.reading import PdfText, docx_words, epub_words, manuscript_words


@pytest.mark.parametrize("corpus", ["novel", "dialogue", "rich"])
def test_the_pdf_contains_the_manuscript_word_for_word(corpus: str, request: pytest.FixtureRequest) -> None:
    rendered: Rendered = request.getfixturevalue(corpus)

    assert PdfText(rendered.pdf).words() == manuscript_words(rendered.manuscript)


@pytest.mark.parametrize("corpus", ["novel", "dialogue", "rich"])
def test_the_docx_contains_the_manuscript_word_for_word(corpus: str, request: pytest.FixtureRequest) -> None:
    rendered: Rendered = request.getfixturevalue(corpus)

    assert docx_words(rendered.docx) == manuscript_words(rendered.manuscript, signs=False)


@pytest.mark.parametrize("corpus", ["novel", "dialogue", "rich"])
def test_the_epub_contains_the_manuscript_word_for_word(corpus: str, request: pytest.FixtureRequest) -> None:
    rendered: Rendered = request.getfixturevalue(corpus)

    assert epub_words(rendered.epub) == manuscript_words(rendered.manuscript, signs=False)
