"""The export formats. URL paths, plans, commands, file names and the API document are derived from these entries.

Writers are imported only when they run, in a worker, so the service itself does not load them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookgen.render.edition import Edition


@dataclass(frozen=True, slots=True)
class Format:
    """An export format. `name` is used in plans, URL paths and file extensions, `noun` in sentences."""

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
