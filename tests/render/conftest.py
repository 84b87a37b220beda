"""Books rendered once for the whole session."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import pytest

from bench.render import corpus
from bench.render.corpus import Corpus
from bookgen.models import Chapter, SourceType
from bookgen.render.docx.writer import write_docx
from bookgen.render.epub.writer import write_epub
from bookgen.render.layout.compose import Composer
from bookgen.render.layout.page import Layout
from bookgen.render.manuscript import manuscript
from bookgen.render.model import Manuscript
from bookgen.render.pdf.writer import write_pdf
from bookgen.render.settings import ExportSettings

# The parser logs every rule that it tries, and pytest would keep all of it.
logging.getLogger("markdown_it").setLevel(logging.INFO)


@dataclass(frozen=True)
class Rendered:
    """A manuscript's files, each made on first use."""

    manuscript: Manuscript
    settings: ExportSettings

    @cached_property
    def layout(self) -> Layout:
        return Composer(self.manuscript, self.settings).layout()

    @cached_property
    def pdf(self) -> bytes:
        return write_pdf(self.manuscript, self.layout, self.settings)

    @cached_property
    def docx(self) -> bytes:
        return write_docx(self.manuscript, self.layout.pagination, self.settings)

    @cached_property
    def epub(self) -> bytes:
        return write_epub(self.manuscript, self.layout.pagination, self.settings)

    @cached_property
    def printed(self) -> Layout:
        """The layout for print, with left and right pages."""
        return Composer(self.manuscript, replace(self.settings, profile="print")).layout()


def render(text: Manuscript, settings: ExportSettings | None = None) -> Rendered:
    return Rendered(text, settings or ExportSettings())


@cache
def rendered(asked: Corpus) -> Rendered:
    book, chapters = corpus.book(asked)
    figures = corpus.illustrations(asked)
    told = {"author": book.author_name, "watermark": False, "source": SourceType.MODEL}
    return render(manuscript(book, chapters, **told, illustrations=figures))  # type: ignore[arg-type]


def shorter(asked: Corpus) -> Corpus:
    """Enough pages to meet every case, in less than half the time."""
    return replace(asked, chapters=8, words=40_000)


@pytest.fixture(scope="session")
def novel() -> Rendered:
    return rendered(shorter(corpus.NOVEL))


@pytest.fixture(scope="session")
def dialogue() -> Rendered:
    return rendered(shorter(corpus.DIALOGUE))


@pytest.fixture(scope="session")
def rich() -> Rendered:
    return rendered(shorter(corpus.RICH))


@pytest.fixture(scope="session")
def small() -> Rendered:
    """Three short chapters that contain every element."""
    return rendered(Corpus("small", chapters=3, words=9_000, rich=True))


Make = Callable[..., Manuscript]


@pytest.fixture(scope="session")
def make() -> Make:
    """Make a manuscript of these chapters: Markdown, or (title, Markdown)."""
    return make_manuscript


def make_manuscript(
    *contents: str | tuple[str, str], language: str = "en", trim: str = "6x9", watermark: bool = False, **changes: str
) -> Manuscript:
    book, (first, *_) = corpus.book(Corpus("one", chapters=1, words=10))
    book = replace(book, content_language=language, trim_size=trim, **changes)
    chapters: list[Chapter] = []
    for number, content in enumerate(contents, 1):
        title, text = content if isinstance(content, tuple) else (f"Part {number}", content)
        chapters.append(replace(first, id=number, chapter_number=number, title=title, content=text))
    return manuscript(book, chapters, author=book.author_name, watermark=watermark, source=SourceType.PARTLY_MODEL)
