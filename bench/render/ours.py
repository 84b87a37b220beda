"""One export of ours in a process of its own, from Markdown to the file."""

from __future__ import annotations

import gc
import pickle
import sys
from pathlib import Path

from bookgen.render.layout.page import Pagination
from bookgen.render.manuscript import manuscript
from bookgen.render.settings import ExportSettings


def main(kind: str, folder: str, profile: str = "digital") -> None:
    gc.disable()  # as the worker does
    book, chapters = pickle.loads((Path(folder) / "book.pickle").read_bytes())
    settings = ExportSettings(profile=profile)
    text = manuscript(book, chapters, author=book.author_name, watermark=False)
    match kind:
        case "pdf":
            from bookgen.render.layout.compose import lay_out
            from bookgen.render.pdf.writer import write_pdf

            pdf = write_pdf(text, lay_out(text, settings), settings)
            (Path(folder) / f"bookgen-{profile}.pdf").write_bytes(pdf)
        case "docx":
            from bookgen.render.docx.writer import write_docx

            (Path(folder) / "bookgen.docx").write_bytes(write_docx(text, _pagination(folder), settings))
        case "epub":
            from bookgen.render.epub.writer import write_epub

            (Path(folder) / "bookgen.epub").write_bytes(write_epub(text, _pagination(folder), settings))


def _pagination(folder: str) -> Pagination:
    """The page numbers of the PDF, which the service has from the PDF's own layout."""
    pagination: Pagination = pickle.loads((Path(folder) / "pagination.pickle").read_bytes())
    return pagination


if __name__ == "__main__":
    main(*sys.argv[1:])
