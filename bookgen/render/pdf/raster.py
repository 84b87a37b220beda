"""Rasterises a drawing: it is written as a PDF page, which PDFium renders."""

from __future__ import annotations

import pypdfium2
from PIL import Image

from bookgen.render.cover.drawing import Drawing
from bookgen.render.pdf.file import PdfFile
from bookgen.render.pdf.inks import operators

_BLACK, _NOTHING = (0, 0, 0, 255), (0, 0, 0, 0)


def raster(drawing: Drawing, width: int = 0) -> Image.Image:
    """The drawing in RGB on black, `width` pixels wide. Without a width, one pixel per unit."""
    return _painted(drawing, width, _BLACK)


def letters(drawing: Drawing, width: int = 0) -> Image.Image:
    """Only the drawing's texts, in RGBA on a transparent background."""
    return _painted(Drawing(drawing.width, drawing.height, [], drawing.letterings), width, _NOTHING)


def _painted(drawing: Drawing, width: int, ground: tuple[int, int, int, int]) -> Image.Image:
    scale = width / drawing.width if width else 1.0
    with pypdfium2.PdfDocument(_page(drawing, scale)) as document:
        image: Image.Image = document[0].render(fill_color=ground, rev_byteorder=True).to_pil()
        return image.copy()  # PDFium's bitmap is freed with the document


def _page(drawing: Drawing, scale: float) -> bytes:
    """The drawing as a one-page PDF, enlarged by `scale`. PDFium renders each point of the page as one pixel."""
    file = PdfFile(round(drawing.width * scale), round(drawing.height * scale), "", compress=False)
    file.draw(list(operators(drawing, 0.0, 0.0, scale, for_screen=True)))
    file.end_page()
    return file.written()
