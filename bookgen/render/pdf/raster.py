"""A drawing as pixels: a page that holds nothing else, as PDFium paints it."""

from __future__ import annotations

from io import BytesIO

import pypdfium2
from PIL import Image

from bookgen.render.cover.drawing import Drawing
from bookgen.render.pdf.canvas import BareCanvas
from bookgen.render.pdf.inks import operators

_BLACK, _NOTHING = (0, 0, 0, 255), (0, 0, 0, 0)


def raster(drawing: Drawing, width: int = 0) -> Image.Image:
    """The drawing in RGB on black, `width` pixels wide; without a width one pixel a unit."""
    return _painted(drawing, width, _BLACK)


def letters(drawing: Drawing, width: int = 0) -> Image.Image:
    """The texts alone in RGBA, on nothing."""
    return _painted(Drawing(drawing.width, drawing.height, [], drawing.letterings), width, _NOTHING)


def _painted(drawing: Drawing, width: int, ground: tuple[int, int, int, int]) -> Image.Image:
    scale = width / drawing.width if width else 1.0
    with pypdfium2.PdfDocument(_page(drawing, scale)) as document:
        image: Image.Image = document[0].render(fill_color=ground, rev_byteorder=True).to_pil()
        return image.copy()  # what PDFium has painted is gone with the document


def _page(drawing: Drawing, scale: float) -> bytes:
    """Of one point a pixel."""
    file = BytesIO()
    canvas = BareCanvas(file, round(drawing.width * scale), round(drawing.height * scale), "")
    canvas.setPageCompression(0)
    canvas.draw(list(operators(drawing, 0.0, 0.0, scale, for_screen=True)))
    canvas.showPage()
    canvas.save()
    return file.getvalue()
