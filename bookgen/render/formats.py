"""The export formats, one table entry each.

The HTTP routes, the OpenAPI document, the plans, the commands, the web page and the user guides read this table. A
writer is imported only when it runs, in a worker process, so the service itself loads none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from bookgen.render.settings import ExportSettings

if TYPE_CHECKING:
    from bookgen.render.edition import Edition


@dataclass(frozen=True, slots=True)
class Format:
    """An export format.

    `name` is the key in a plan's `export_formats` and ends the URL path of the export. `label` and `use` are shown on
    the page, `noun` within sentences. `settings` names the export settings that can change the file.
    """

    name: str
    extension: str
    content_type: str
    label: str
    noun: str
    use: str
    write: Callable[[Edition], bytes]
    settings: frozenset[str]

    @property
    def path(self) -> str:
        """The last part of the path of an export in this format."""
        return f"export_{self.name}"


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


# `require_complete` changes no file: it only decides whether to export.
_ALL = frozenset(field.name for field in fields(ExportSettings)) - {"require_complete"}
_PRESS = {"bleed", "color", "cover_wrap", "paper"}

FORMATS = {
    entry.name: entry
    for entry in (
        Format(
            name="pdf",
            extension="pdf",
            content_type="application/pdf",
            label="PDF",
            noun="a PDF",
            use="For screens. For a printing house, choose the Print profile in the file settings.",
            write=_pdf,
            settings=_ALL,
        ),
        Format(
            name="docx",
            extension="docx",
            content_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            label="Word",
            noun="a Word document",
            use="For editing in a word processor.",
            write=_docx,
            settings=_ALL - _PRESS - {"drop_caps"},
        ),
        Format(
            name="epub",
            extension="epub",
            content_type="application/epub+zip",
            label="EPUB",
            noun="an EPUB",
            use="For e-readers and phones.",
            write=_epub,
            settings=_ALL - _PRESS - {"profile"},
        ),
    )
}

LABELS = ", ".join(each.label for each in FORMATS.values())
