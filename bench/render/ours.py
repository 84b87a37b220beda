"""One export by bookgen in a separate process, from Markdown to the file."""

from __future__ import annotations

import gc
import pickle
import sys
from pathlib import Path

from bookgen.render.layout.page import Pagination
from bookgen.render.manuscript import manuscript
from bookgen.render.model import Manuscript
from bookgen.render.settings import ExportSettings


def main(kind: str, folder: str, how: str = "digital") -> None:
    """`how`: the PDF's profile, or "layout" for another format that has to lay out the book first."""
    gc.disable()  # like the worker
    place = Path(folder)
    book, chapters, illustrations = pickle.loads((place / "book.pickle").read_bytes())
    text = manuscript(book, chapters, author=book.author_name, watermark=False, illustrations=illustrations)
    match kind:
        case "pdf":
            from bookgen.render.layout.compose import Composer
            from bookgen.render.pdf.writer import write_pdf

            settings = ExportSettings(profile=how)
            (place / f"bookgen-{how}.pdf").write_bytes(write_pdf(text, Composer(text, settings).layout(), settings))
        case "docx":
            from bookgen.render.docx.writer import write_docx

            (place / "bookgen.docx").write_bytes(write_docx(text, _pagination(place, text, how), ExportSettings()))
        case "epub":
            from bookgen.render.epub.writer import write_epub

            (place / "bookgen.epub").write_bytes(write_epub(text, _pagination(place, text, how), ExportSettings()))


def _pagination(place: Path, text: Manuscript, how: str) -> Pagination:
    """The page numbers: from a new layout, or from the PDF's layout, as in the service."""
    if how == "layout":
        from bookgen.render.layout.compose import Composer

        return Composer(text, ExportSettings(), measuring=True).pagination()
    pagination: Pagination = pickle.loads((place / "pagination.pickle").read_bytes())
    return pagination


if __name__ == "__main__":
    main(*sys.argv[1:])
