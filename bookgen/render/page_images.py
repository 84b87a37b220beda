"""Pages of the PDF as images, so that a screen shows exactly what is printed."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from io import BytesIO
from typing import Any

import pypdfium2

from bookgen.render.edition import Edition
from bookgen.render.model import Manuscript
from bookgen.render.pdf.writer import write_pdf
from bookgen.render.preview import page_kind, page_text
from bookgen.render.settings import PAGES_OF_A_SCAN

_WIDTH = 1_100  # pixels
_QUALITY = 80


def scanned_pages(text: Manuscript, edition: Edition, first: int) -> dict[str, Any]:
    """The page count, and up to PAGES_OF_A_SCAN pages from number `first`.

    The result has the keys `page_count` and `pages`. Each page has its `number`, `kind`, `chapter_id` and `html`: an
    `img` element with the page as a WebP image, and with the page's text as the alt text.
    """
    whole = edition.layout
    pages = whole.pages[first - 1 : first - 1 + PAGES_OF_A_SCAN]
    images = _images(write_pdf(text, replace(whole, pages=pages), edition.settings)) if pages else ()
    shown = [
        {"number": number, "kind": page_kind(page), "chapter_id": page.chapter, "html": _html(image, page_text(page))}
        for number, (page, image) in enumerate(zip(pages, images, strict=True), first)
    ]
    return {"page_count": len(whole.pages), "pages": shown}


def _images(file: bytes) -> Iterator[bytes]:
    with pypdfium2.PdfDocument(file) as document:
        for page in document:
            encoded = BytesIO()
            page.render(scale=_WIDTH / page.get_width()).to_pil().save(encoded, "WEBP", quality=_QUALITY)
            yield encoded.getvalue()


def _html(image: bytes, text: str) -> str:
    source = "data:image/webp;base64," + b64encode(image).decode("ascii")
    return f'<img src="{source}" alt="{escape(text)}"/>'
