"""The formats a book is exported in, an entry each: paths, plans, commands, file names and documents go by it.

A writer is imported where it writes, in a worker: the service itself knows the formats and loads no writer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.render.edition import Edition


@dataclass(frozen=True, slots=True)
class Format:
    """`name` is its plan key, its path's ending and its file's; `noun` stands for one in a sentence."""

    name: str
    noun: str
    content_type: str
    write: Callable[[Edition], bytes]


def _pdf(edition: Edition) -> bytes:
    from bookgen.render.pdf.wrap import write_wrap
    from bookgen.render.pdf.writer import write_pdf

    if edition.settings.cover_wrap:
        return write_wrap(edition.manuscript, edition.pagination.pages, edition.settings, edition.cover_design)
    return write_pdf(edition.manuscript, edition.layout, edition.settings)


def _docx(edition: Edition) -> bytes:
    from bookgen.render.docx.writer import write_docx

    return write_docx(edition.manuscript, edition.pagination, edition.settings)


def _epub(edition: Edition) -> bytes:
    from bookgen.render.epub.spreads import write_fixed_epub
    from bookgen.render.epub.writer import write_epub

    write = write_fixed_epub if edition.manuscript.ages else write_epub
    return write(edition.manuscript, edition.pagination, edition.settings)


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

FORMATS = {
    entry.name: entry
    for entry in (
        Format("pdf", "a PDF", "application/pdf", _pdf),
        Format("docx", "a Word document", _WORD, _docx),
        Format("epub", "an EPUB", "application/epub+zip", _epub),
    )
}
