"""The dates in a file are those of the book's last change and never the time of the export."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pikepdf
from docx import Document

from bench.render import corpus
from bookgen.render.job import Job
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings

BOOK, CHAPTERS = corpus.book(corpus.Corpus("dated", chapters=2, words=400))
EDITED = datetime(2026, 3, 29, 4, 5, 6, 789, timezone(timedelta(hours=5, minutes=30)))


def made(kind: str, *, chapter_edited: datetime = EDITED) -> Job:
    return Job(kind, BOOK, [CHAPTERS[0], replace(CHAPTERS[1], updated_at=chapter_edited)], "A", ExportSettings(), False)


def test_the_pdf_gives_the_date_of_the_last_edit_twice() -> None:
    with pikepdf.open(io.BytesIO(perform(made("pdf")))) as pdf:
        assert str(pdf.docinfo.ModDate) == "D:20260328223506+00'00'"
        with pdf.open_metadata() as xmp:
            assert xmp["xmp:ModifyDate"] == xmp["xmp:CreateDate"] == "2026-03-28T22:35:06Z"


def test_the_epub_and_the_docx_also_give_the_date() -> None:
    package = zipfile.ZipFile(io.BytesIO(perform(made("epub")))).read("EPUB/content.opf").decode()
    properties = Document(io.BytesIO(perform(made("docx")))).core_properties

    assert '<meta property="dcterms:modified">2026-03-28T22:35:06Z</meta>' in package
    assert properties.modified.replace(tzinfo=None) == datetime(2026, 3, 28, 22, 35, 6)


def test_a_later_date_changes_the_file_and_an_equal_book_does_not() -> None:
    later = made("pdf", chapter_edited=EDITED + timedelta(days=1))

    assert made("pdf").digest != later.digest
    assert perform(made("pdf")) == perform(made("pdf")) != perform(later)
