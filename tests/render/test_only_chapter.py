"""Headings without a number: in a book of one chapter and in a collection of separate stories.

A book of one chapter has no table of contents either, and no title that the title page already has.
"""

from __future__ import annotations

import io
from dataclasses import replace

import docx
import pikepdf
import pytest

from bench.render import corpus
from bench.render.corpus import Corpus
from bookgen.render.manuscript import manuscript
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.test_docx import of_style
from tests.render.test_epub import navigation, text_of

TITLE = "The Patient Harbour"


def opening(book: Rendered) -> list[str]:
    """The lines of the chapter's first page."""
    page = next(page for page in book.layout.pages if page.anchors)
    return [mark.line.text for _, mark in sorted(body(page), key=lambda each: -each[0])]


def outline(book: Rendered) -> list[str]:
    with pikepdf.open(io.BytesIO(book.pdf)) as pdf, pdf.open_outline() as found:
        return [str(item.title) for item in found.root]


@pytest.mark.parametrize("title", [TITLE, "the patient harbour!", "", "Chapter 1"])
def test_a_single_chapters_title_is_not_repeated_if_it_is_the_books(title: str, make: Make) -> None:
    book = render(make((title, "A line.")))
    document = docx.Document(io.BytesIO(book.docx))
    page = text_of(book.epub, "EPUB/chapter001.xhtml")
    (section,) = book.manuscript.chapters

    assert "toc" not in {page.kind for page in book.layout.pages}
    assert opening(book) == ["A line."]
    assert [str(each).casefold().strip("!") for each in outline(book)] == [TITLE.casefold()]
    assert of_style(document, "Heading 1") == of_style(document, "Chapter Number") == []
    assert of_style(document, "toc 1") == of_style(document, "Contents Heading") == []
    assert "<h1" not in page
    assert f'aria-label="{section.title}"' in page
    assert [each.casefold().strip("!") for each in navigation(book.epub)["toc"]] == [TITLE.casefold()]


def test_a_different_title_is_printed_above_the_text_without_a_number(make: Make) -> None:
    book = render(make(("The Tide", "A line.")))

    assert opening(book) == ["The Tide", "A line."]
    assert outline(book) == ["The Tide"]
    assert [each.text for each in of_style(docx.Document(io.BytesIO(book.docx)), "Heading 1")] == ["The Tide"]
    assert '<h1 id="h1">The Tide</h1>' in text_of(book.epub, "EPUB/chapter001.xhtml")
    assert "Chapter 1" not in text_of(book.epub, "EPUB/nav.xhtml")


def test_without_a_title_page_the_text_has_the_title(make: Make) -> None:
    book = render(make((TITLE, "A line.")), ExportSettings(include_title_page=False))

    assert opening(book) == [TITLE, "A line."]
    assert f'<h1 id="h1">{TITLE}</h1>' in text_of(book.epub, "EPUB/chapter001.xhtml")


def test_the_first_of_several_chapters_has_its_number_before_the_others_are_written() -> None:
    book, (first, *_) = corpus.book(Corpus("one", chapters=1, words=10))
    chapters = [replace(first, content="A line."), replace(first, id=2, chapter_number=2, content="")]
    written = render(manuscript(book, chapters, author="A", watermark=False))

    assert opening(written)[0].casefold() == "chapter 1"
    assert "toc" in {page.kind for page in written.layout.pages}


@pytest.mark.parametrize(
    ("genre", "headings"),
    [("Short stories", ["nine inches", "oban"]), ("Novel", ["chapter 1", "chapter 2"])],
)
def test_the_titles_of_separate_stories_have_no_number_above_them(genre: str, headings: list[str]) -> None:
    book, (first, *_) = corpus.book(Corpus("one", chapters=1, words=10))
    book = replace(book, genre=genre, chapter_count=5, description="", bible={})
    titles = ("Nine Inches", "Chapter 2: Oban")
    chapters = [
        replace(first, id=number, chapter_number=number, title=title, content="A line.")
        for number, title in enumerate(titles, 1)
    ]

    written = render(manuscript(book, chapters, author="A", watermark=False))

    pages = [page for page in written.layout.pages if page.anchors]
    tops = [max(body(page), key=lambda each: each[0])[1].line.text for page in pages]
    document = docx.Document(io.BytesIO(written.docx))
    numbers = of_style(document, "Chapter Number")
    assert [top.casefold() for top in tops] == headings
    assert len(numbers) == (0 if genre == "Short stories" else 2)
    assert [each.text for each in of_style(document, "Heading 1")] == ["Nine Inches", "Oban"]
    assert outline(written) == navigation(written.epub)["toc"] == ["Nine Inches", "Oban"]


@pytest.mark.parametrize("title", ["Chapter 2: The End", "CHAPTER 2 — The End", "The End"])
def test_a_title_that_only_repeats_the_number_is_reduced_to_the_rest(title: str, make: Make) -> None:
    book = make("A line.", (title, "A line."))

    assert book.chapters[1].title == "The End"


@pytest.mark.parametrize("title", ["Chapter 3: The End", "Chapter 2", "Chapter 20: x"])
def test_a_title_with_a_different_number_is_kept(title: str, make: Make) -> None:
    assert make("A line.", (title, "A line.")).chapters[1].title == title
