"""The full cover for print: back, spine and front on one sheet, with bleed on every edge."""

from __future__ import annotations

import hashlib
import re
from io import BytesIO

from reportlab.lib.utils import ImageReader

from bookgen.render.layout.compose import setter_for
from bookgen.render.layout.lines import Align, Line
from bookgen.render.layout.page import Layout
from bookgen.render.layout.setter import DISPLAY_LEAD, Setter
from bookgen.render.model import Manuscript
from bookgen.render.pdf.archive import describe
from bookgen.render.pdf.canvas import BareCanvas
from bookgen.render.pdf.fontfile import EmbeddedFont
from bookgen.render.pdf.text import TextWriter
from bookgen.render.pictures import extended
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import BLEED, INCH, SAFE, SPINE_TEXT_FROM, spine_width

BARCODE = (2.0 * INCH, 1.2 * INCH)
BARCODE_GAP = 0.25 * INCH
_SPINE_AIR = 0.0625 * INCH
_BLURB_LEAD = 1.4
_SENTENCE = re.compile(r".+?(?:[.!?…]['\"’”»)]*\s+|[。！？][」』”]*|$)", re.DOTALL)
# Grounds that white type reads well on, each with a contrast of 7 or more.
_GROUNDS = ("0.09 0.16 0.27", "0.23 0.10 0.13", "0.08 0.22 0.19", "0.20 0.14 0.28", "0.16 0.17 0.19")


def write_wrap(manuscript: Manuscript, layout: Layout, settings: ExportSettings) -> bytes:
    return _Wrap(manuscript, layout, settings).file()


class _Wrap:
    def __init__(self, manuscript: Manuscript, layout: Layout, settings: ExportSettings) -> None:
        self._manuscript = manuscript
        self._settings = settings
        self._pages = len(layout.pages)
        self._trim_width, self._height = layout.width, layout.height
        self._spine = spine_width(self._pages, settings.paper)
        sides = (BLEED, BLEED + self._trim_width + self._spine)
        self._back, self._front = sides[::-1] if layout.rtl else sides
        self._file = BytesIO()
        width = 2 * self._trim_width + self._spine + 2 * BLEED
        self._canvas = BareCanvas(self._file, width, self._height + 2 * BLEED, manuscript.language)
        self._setter: Setter = setter_for(manuscript, settings)
        self._texts: list[tuple[Line, float, float, float, bool]] = []

    def file(self) -> bytes:
        canvas = self._canvas
        describe(canvas, self._manuscript)
        canvas.setTrimBox((BLEED, BLEED, self._canvas_width - BLEED, BLEED + self._height))
        canvas.draw([f"q {self._ground} rg 0 0 {self._canvas_width:.2f} {self._height + 2 * BLEED:.2f} re f Q"])
        if self._manuscript.cover:
            width, height = self._trim_width + BLEED, self._height + 2 * BLEED
            reader = ImageReader(BytesIO(extended(self._manuscript.cover, width, height).data))
            left = 0.0 if self._front == BLEED else self._front  # with the bleed of its outer edge
            canvas.drawImage(reader, left, 0, width, height)
        else:
            self._set_front()
        self._set_spine()
        self._set_back()
        self._draw_texts()
        canvas.showPage()
        canvas.save()
        return self._file.getvalue()

    @property
    def _canvas_width(self) -> float:
        return 2 * self._trim_width + self._spine + 2 * BLEED

    @property
    def _ground(self) -> str:
        seed = hashlib.sha256(f"{self._manuscript.subject}|{self._manuscript.title}".encode()).digest()
        return _GROUNDS[seed[0] % len(_GROUNDS)]

    def _set_front(self) -> None:
        book, unit = self._manuscript, self._setter.geometry.trim.font_size
        scale = 3.4 if len(book.title) <= 30 else 2.6 if len(book.title) <= 70 else 1.9
        y = self._centered(book.title, unit * scale, BLEED + self._height * 0.74, 0.3, display=True)
        if book.subtitle:
            self._centered(book.subtitle, unit * 1.4, y - 12, 0.2, italic=True)
        self._centered(book.author, unit * 1.7, BLEED + self._height * 0.14, 0.1)

    def _set_spine(self) -> None:
        """Printers take type on a spine only from so many pages on, and with air on both sides."""
        room = self._spine - 2 * _SPINE_AIR
        if self._pages < SPINE_TEXT_FROM or room < 7.0:
            return
        size = min(14.0, room * 0.8)
        book = self._manuscript
        line = self._setter.line(f"{book.title} — {book.author}", size, self._height - 2 * SAFE, Align.START)
        line.x = 0.0
        x = BLEED + self._trim_width + self._spine / 2 - size * 0.33
        top = BLEED + self._height / 2 + line.width / 2
        self._texts.append((line, x, top, size, True))

    def _set_back(self) -> None:
        """The description above, the lower right corner free for the barcode."""
        text = self._manuscript.description or self._manuscript.subtitle
        measure = self._trim_width - 2 * SAFE - 0.25 * INCH
        top = BLEED + self._height - SAFE
        lowest = BLEED + BARCODE_GAP + BARCODE[1]
        size, lines = self._blurb(text, measure, top - lowest)
        y = top - size * 2
        for line in lines:
            self._texts.append((line, self._back + SAFE, y, size, False))
            y -= size * _BLURB_LEAD
        box_x = self._back + self._trim_width - BARCODE_GAP - BARCODE[0]
        self._canvas.draw([f"q 1 g {box_x:.2f} {BLEED + BARCODE_GAP:.2f} {BARCODE[0]:.2f} {BARCODE[1]:.2f} re f Q"])

    def _blurb(self, text: str, measure: float, height: float) -> tuple[float, list[Line]]:
        """Smaller where it is long; what is longer still ends with the last sentence that has room."""
        sentences = _SENTENCE.findall(text)
        for scale in (1.05, 0.95, 0.85):
            size = self._setter.geometry.trim.font_size * scale
            most = int((height - size * 4) / (size * _BLURB_LEAD)) + 1
            lines = self._setter.lines(text, size, measure, Align.JUSTIFY)
            if len(lines) <= most:
                return size, lines
        while len(lines) > most and len(sentences) > 1:
            sentences.pop()
            lines = self._setter.lines("".join(sentences).strip(), size, measure, Align.JUSTIFY)
        return size, lines[:most]

    def _centered(self, text: str, size: float, y: float, share: float, **kind: bool) -> float:
        """On the front, as large as `size` or as fits into so much of its height; the height below."""
        sizes = [size * smaller for smaller in (1.0, 0.8, 0.65, 0.5)]
        measure = self._trim_width - 2 * SAFE
        size, lines = self._setter.fitted(text, sizes, measure, self._height * share, **kind)
        for line in lines:
            self._texts.append((line, self._front + SAFE, y, size, False))
            y -= size * DISPLAY_LEAD
        return y

    def _draw_texts(self) -> None:
        typeface = self._setter.maker.typeface
        names = {face.key: EmbeddedFont(face, self._canvas).name for face in typeface.faces}
        writer = TextWriter(names)
        for line, x, y, size, turned in self._texts:
            place = f"0 -1 1 0 {x:.2f} {y:.2f} cm" if turned else f"1 0 0 1 {x:.2f} {y:.2f} cm"
            writer.restart()
            self._canvas.draw([f"q {place} 1 g BT", writer.operators(line, 0.0, 0.0, size), "ET Q"])
