"""Every file labels sample text on its first page and in each chapter of it."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import docx
import pytest
from pypdfium2 import PdfDocument

from bench.render import corpus
from bench.render.corpus import Corpus
from bookgen.models import AgeRange, Book, BookKind, Chapter
from bookgen.render.job import Job
from bookgen.render.perform import perform
from bookgen.render.sample_text import NO_RIGHTS, OF_BOOK, OF_CHAPTER, OF_SOME, notice
from bookgen.render.settings import ExportSettings

PLAIN = ExportSettings(hyphenate=False)


def book_with(writers: list[str], **changes: object) -> tuple[Book, list[Chapter]]:
    book, (first, *_) = corpus.book(Corpus("one", chapters=1, words=400))
    chapters = [
        replace(first, id=number, chapter_number=number, title=f"Part {number}", writer=writer)
        for number, writer in enumerate(writers, 1)
    ]
    return replace(book, **changes), chapters  # type: ignore[arg-type]


def pages(file: str, writers: list[str], settings: ExportSettings = PLAIN, **changes: object) -> list[str]:
    """The text of the file, page by page; of an EPUB, in the order of its documents."""
    book, chapters = book_with(writers, **changes)
    made = perform(Job(file, book, chapters, "A. Author", settings, watermark=False))
    assert isinstance(made, bytes)
    match file:
        case "pdf":
            return [" ".join(page.get_textpage().get_text_range().split()) for page in PdfDocument(made)]
        case "docx":
            return [paragraph.text for paragraph in docx.Document(io.BytesIO(made)).paragraphs]
    with zipfile.ZipFile(io.BytesIO(made)) as epub:
        names = [name for name in epub.namelist() if name.endswith(".xhtml")]
        return [epub.read(name).decode() for name in sorted(names, key=lambda name: ("title" not in name, name))]


@pytest.mark.parametrize("kind", ["pdf", "docx", "epub"])
def test_the_first_page_and_each_chapter_of_a_sample_are_labelled(kind: str) -> None:
    whole, mixed, real = pages(kind, ["offline"] * 2), pages(kind, ["", "offline", "a:b"]), pages(kind, ["", "a:b"])

    first = " ".join(whole[:5] if kind == "docx" else whole[:1])
    assert OF_BOOK in first
    assert " ".join(whole).count(OF_CHAPTER) == 2
    assert "Chapter 2 is sample text: no language model wrote it." in " ".join(mixed[:5])
    assert " ".join(mixed).count(OF_CHAPTER) == 1
    assert "ample text" not in " ".join(real)


def test_the_first_printed_page_has_the_label() -> None:
    assert OF_BOOK in pages("pdf", ["offline"], replace(PLAIN, profile="print"))[0]


@pytest.mark.parametrize("kind", ["pdf", "docx", "epub"])
def test_without_a_title_page_the_copyright_page_has_the_label(kind: str) -> None:
    assert OF_BOOK in " ".join(pages(kind, ["offline"], replace(PLAIN, include_title_page=False)))


@pytest.mark.parametrize("kind", ["pdf", "docx", "epub"])
def test_a_picture_book_has_the_label(kind: str) -> None:
    told = pages(kind, ["offline"], kind=BookKind.CHILDRENS, age_range=AgeRange.FIRST_READERS, trim_size="8.5x8.5")

    assert OF_BOOK in " ".join(told)
    assert "no language model wrote this chapter" in " ".join(told)


@pytest.mark.parametrize("kind", ["pdf", "docx", "epub"])
@pytest.mark.parametrize("picture_book", [False, True])
def test_nobody_claims_rights_in_sample_text(kind: str, picture_book: bool) -> None:
    childrens = {"kind": BookKind.CHILDRENS, "age_range": AgeRange.FIRST_READERS, "trim_size": "8.5x8.5"}
    changes: dict[str, object] = dict(childrens) if picture_book else {}
    settings = replace(PLAIN, copyright_text="All mine.")

    whole, mixed, real, own = (
        " ".join(pages(kind, *told, **changes))
        for told in ([["offline"]], [["", "offline"]], [["a:b"]], [["offline"], settings])
    )

    assert (NO_RIGHTS in whole, "All rights reserved." in whole) == (True, False)
    assert (NO_RIGHTS in mixed, "All rights reserved." in mixed) == (True, True)
    assert (NO_RIGHTS in real, "All rights reserved." in real) == (False, True)
    assert (NO_RIGHTS in own, "All mine." in own) == (False, True)


def test_the_notice_names_the_chapters_if_they_are_few() -> None:
    def told(samples: list[int], count: int = 40) -> str:
        _, chapters = book_with(["offline" if number in samples else "" for number in range(1, count + 1)])
        return notice(chapters)

    assert told([]) == ""
    assert told([3, 4, 5, 9]) == "Chapters 3–5, 9 are sample text: no language model wrote them."
    assert told([*range(1, 40, 2)]) == OF_SOME
    assert told([1, 2], count=2) == OF_BOOK


def test_the_label_is_not_part_of_the_text() -> None:
    book, chapters = book_with(["offline"])
    job = Job("pdf", book, chapters, "A. Author", PLAIN, watermark=False)
    real = replace(job, chapters=[replace(chapters[0], writer="")])

    assert OF_CHAPTER not in chapters[0].content
    assert job.digest != real.digest
    assert perform(job) == perform(job)
