"""The full print cover: back, spine and front on one sheet, with bleed on all edges, in CMYK."""

from __future__ import annotations

import re
from io import BytesIO

from PIL import Image

from bookgen.errors import InvalidInput
from bookgen.render.cover.colour import TITLE_CONTRAST, WHITE, Colour, readable
from bookgen.render.cover.families import DESIGNS
from bookgen.render.cover.job import Copy, CoverDesign
from bookgen.render.cover.variants import draw_front, family_of
from bookgen.render.layout.compose import setter_for
from bookgen.render.layout.lines import Align, Line
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Manuscript, Picture
from bookgen.render.pdf.archive import describe, make_print_ready
from bookgen.render.pdf.barcode import Barcode
from bookgen.render.pdf.file import PdfFile
from bookgen.render.pdf.fontfile import EmbeddedFont
from bookgen.render.pdf.inks import inks, operators
from bookgen.render.pdf.text import TextWriter
from bookgen.render.pictures import extended, inked, printable
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import INCH, RULES, SAFE, spine_width

_RULES = RULES["paperback"]
BLEED = _RULES["bleed"] * INCH
BARCODE_BOX = tuple(side * INCH for side in _RULES["barcode"])
_BARCODE_GAP = _RULES["barcode_gap"] * INCH
_PIXEL = INCH / 300
_BLURB_LEAD = 1.4
_BLURB_GAP = 0.7  # between paragraphs
_MARK_SIZE = 9.0
_SENTENCE = re.compile(r".+?(?:[.!?…]['\"’”»)]*\s+|[。！？][」』”]*|$)", re.DOTALL)


def write_wrap(
    manuscript: Manuscript, pages: int, settings: ExportSettings, design: CoverDesign | None = None
) -> bytes:
    """The cover for an interior of `pages` pages. Raises InvalidInput if this paper is too thick to bind so many pages.

    `design`: the design of the manuscript's cover, if bookgen drew it.
    """
    most = _RULES["most_pages"][settings.paper]
    if pages > most:
        problem = (
            f"Printers bind at most {most} pages of {settings.paper} paper; this book has {pages}. "
            "Choose a thinner paper or a larger trim size."
        )
        raise InvalidInput(settings={"paper": [problem]})
    return _Wrap(manuscript, pages, settings, design).written()


class _Wrap:
    """Draws the cover. Lengths are in points from the sheet's lower left corner."""

    def __init__(
        self, manuscript: Manuscript, pages: int, settings: ExportSettings, design: CoverDesign | None
    ) -> None:
        self._manuscript = manuscript
        self._design = design
        self._settings = settings
        self._pages = pages
        self._setter: Setter = setter_for(manuscript, settings)
        trim = self._setter.geometry.trim
        self._trim_width, self._height = trim.width, trim.height
        self._spine = spine_width(pages, settings.paper)
        sides = (BLEED, BLEED + trim.width + self._spine)
        self._back, self._front = sides[::-1] if self._setter.language.rtl else sides
        self._width = 2 * trim.width + self._spine + 2 * BLEED
        self._tall = trim.height + 2 * BLEED
        self._file = PdfFile(self._width, self._tall, manuscript.language)
        self._texts: list[tuple[Line, float, float, float, bool]] = []  # on the ground of the cover
        self._numbers: list[tuple[Line, float, float, float, bool]] = []  # on the white of the barcode

    def written(self) -> bytes:
        file, cover = self._file, self._manuscript.cover
        describe(file, self._manuscript)
        make_print_ready(file, self._manuscript)
        trim = (BLEED, BLEED, self._width - BLEED, BLEED + self._height)
        file.set_boxes(trim=trim, bleed=(0, 0, self._width, self._tall))
        front, ground = self._picture_front(cover) if cover and not self._design else self._drawn_front()
        file.draw([f"q {inks(ground)} k 0 0 {self._width:.2f} {self._tall:.2f} re f Q"])
        left = 0.0 if self._front == BLEED else self._front  # with the bleed of its outer edge
        file.draw([f"q {left:.2f} 0 {self._trim_width + BLEED:.2f} {self._tall:.2f} re W n"])
        if isinstance(front, Picture):
            file.draw_picture(front, left, 0, self._trim_width + BLEED, self._tall)
        else:
            file.draw(front)
        file.draw(["Q"])
        self._set_spine()
        self._set_back()
        self._draw_texts(inks(readable(WHITE, ground, TITLE_CONTRAST)))
        file.end_page()
        return file.written()

    def _picture_front(self, cover: Picture) -> tuple[Picture, Colour]:
        """The book's cover picture, and the colour of its edge, with which the rest of the sheet is filled."""
        with Image.open(BytesIO(cover.data)) as image:
            edge = image.convert("RGB").resize((3, 3), Image.Resampling.BOX)
            red, green, blue = edge.tobytes()[9:12]
        width = self._trim_width + BLEED
        return inked(printable(extended(cover, width, self._tall), width)), (red, green, blue)

    def _drawn_front(self) -> tuple[list[str], Colour]:
        """The operators that draw the front with its bleed, and its ground colour.

        Without a design, the front is the first cover that bookgen would draw for the book.
        """
        book = self._manuscript
        width, height = (self._trim_width + 2 * BLEED) / _PIXEL, self._tall / _PIXEL
        copy = Copy(book.title, book.subtitle, book.author, book.language)
        design = self._design or CoverDesign(copy, book.id, family_of(book.id, book.subject, 0).name, 0)
        drawing = draw_front(
            design.copy,
            seed=design.seed,
            family=DESIGNS[design.family],
            variant=design.variant,
            width=width,
            height=height,
            subject=design.subject,
        )
        return list(operators(drawing, self._front - BLEED, 0.0, _PIXEL)), drawing.shapes[0].colour

    def _set_spine(self) -> None:
        """Add the title to the spine, if printers accept text on a spine of this width."""
        room = self._spine - 2 * _RULES["spine_air"] * INCH
        if self._pages < _RULES["spine_text_from"] or room < 7.0:
            return
        size = min(14.0, room * 0.8)
        book = self._manuscript
        line = self._setter.line(f"{book.title} — {book.author}", size, self._height - 2 * SAFE, Align.START)
        line.x = 0.0
        x = BLEED + self._trim_width + self._spine / 2 - size * 0.33
        top = BLEED + self._height / 2 + line.width / 2
        self._texts.append((line, x, top, size, True))

    def _set_back(self) -> None:
        """Add the blurb at the top, the plan's watermark, if any, at the bottom, and the barcode at the lower right."""
        measure = self._trim_width - 2 * SAFE - 0.25 * INCH
        top = BLEED + self._height - SAFE
        lowest = BLEED + _BARCODE_GAP + BARCODE_BOX[1]
        size, lines = self._blurb(self._manuscript.blurb.splitlines(), measure, top - lowest)
        for line, depth in lines:
            self._texts.append((line, self._back + SAFE, top - size * 2 - depth, size, False))
        if mark := self._manuscript.watermark:
            line = self._setter.line(mark, _MARK_SIZE, measure, Align.START)
            line.x = 0.0
            self._texts.append((line, self._back + SAFE, BLEED + SAFE, _MARK_SIZE, False))
        self._set_barcode(self._back + self._trim_width - _BARCODE_GAP - BARCODE_BOX[0], BLEED + _BARCODE_GAP)

    def _set_barcode(self, x: float, y: float) -> None:
        """Draw a white box, with the barcode in black if the book has an ISBN."""
        width, height = BARCODE_BOX
        self._file.draw([f"q 0 0 0 0 k {x:.2f} {y:.2f} {width:.2f} {height:.2f} re f Q"])
        if not self._settings.isbn:
            return
        code = Barcode(self._settings.isbn)
        x, y = x + (width - code.width) / 2, y + (height - code.height) / 2
        bars = " ".join(f"{x + bar.x:.3f} {y + bar.y:.3f} {bar.width:.3f} {bar.height:.3f} re" for bar in code.bars())
        self._file.draw([f"q 0 0 0 1 k {bars} f Q"])
        for digits in code.digits():
            line = self._setter.line(digits.text, code.size, width, Align.START)
            line.x = 0.0
            left = digits.x if len(digits.text) == 1 else digits.x - line.width / 2
            self._numbers.append((line, x + left, y + digits.y, code.size, False))

    def _blurb(self, paragraphs: list[str], measure: float, height: float) -> tuple[float, list[tuple[Line, float]]]:
        """The blurb's type size, and each line with its depth below the first one.

        A long blurb is set smaller. If it is still too long, it is cut after the last sentence that fits.
        """
        for scale in (1.05, 0.95, 0.85):
            size = self._setter.geometry.trim.font_size * scale
            lines = self._paragraphs(paragraphs, size, measure)
            if not lines or lines[-1][1] <= height - size * 4:
                return size, lines
        while lines[-1][1] > height - size * 4 and (shorter := _without_last_sentence(paragraphs)):
            paragraphs, lines = shorter, self._paragraphs(shorter, size, measure)
        return size, [each for each in lines if each[1] <= height - size * 4]

    def _paragraphs(self, paragraphs: list[str], size: float, measure: float) -> list[tuple[Line, float]]:
        placed: list[tuple[Line, float]] = []
        depth = 0.0
        for text in paragraphs:
            for line in self._setter.lines(text, size, measure, Align.JUSTIFY):
                placed.append((line, depth))
                depth += size * _BLURB_LEAD
            depth += size * _BLURB_GAP
        return placed

    def _draw_texts(self, ink: str) -> None:
        typeface = self._setter.maker.typeface
        names = {face.key: EmbeddedFont(face, self._file).name for face in typeface.faces}
        writer = TextWriter(names)
        for texts, colour in ((self._texts, ink), (self._numbers, "0 0 0 1")):
            for line, x, y, size, turned in texts:
                place = f"0 -1 1 0 {x:.2f} {y:.2f} cm" if turned else f"1 0 0 1 {x:.2f} {y:.2f} cm"
                writer.restart()
                self._file.draw([f"q {place} {colour} k BT", writer.operators(line, 0.0, 0.0, size), "ET Q"])


def _without_last_sentence(paragraphs: list[str]) -> list[str]:
    """The paragraphs without the last sentence of the last one. A paragraph of one sentence is removed."""
    *before, last = paragraphs
    shortened = "".join(_SENTENCE.findall(last.strip())[:-1]).strip()
    return [*before, shortened] if shortened else before
