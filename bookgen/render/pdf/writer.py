"""A layout drawn: one content stream a page, outline and links and tags for the digital file, none for print."""

from __future__ import annotations

from io import BytesIO

from reportlab.lib.utils import ImageReader

from bookgen.render.layout.front import anchor
from bookgen.render.layout.page import Layout, Page, Placed
from bookgen.render.layout.rows import Image, Rule, Text
from bookgen.render.model import Manuscript
from bookgen.render.pdf.archive import describe, make_archival
from bookgen.render.pdf.canvas import BareCanvas
from bookgen.render.pdf.fontfile import EmbeddedFont
from bookgen.render.pdf.tags import Tags
from bookgen.render.pdf.text import TextWriter
from bookgen.render.pdf.watermark import watermark
from bookgen.render.settings import ExportSettings

PREVIEW_PAGES = 10
PREVIEW_MARK = "PREVIEW"


def write_pdf(manuscript: Manuscript, layout: Layout, settings: ExportSettings, *, preview: bool = False) -> bytes:
    return _Writer(manuscript, layout, settings, preview).file()


class _Writer:
    def __init__(self, manuscript: Manuscript, layout: Layout, settings: ExportSettings, preview: bool) -> None:
        self._manuscript = manuscript
        self._layout = layout
        self._digital = settings.profile == "digital"
        self._pages = layout.pages[:PREVIEW_PAGES] if preview else layout.pages
        self._file = BytesIO()
        self._canvas = BareCanvas(self._file, layout.width, layout.height, manuscript.language)
        self._mark = PREVIEW_MARK if preview else manuscript.watermark
        if self._mark:
            layout.typeface.pieces(self._mark, bold=True)
        self._names = {face.key: EmbeddedFont(face, self._canvas).name for face in layout.typeface.faces}
        self._text = TextWriter(self._names)
        self._tags = Tags(on=self._digital)

    def file(self) -> bytes:
        canvas, layout = self._canvas, self._layout
        describe(canvas, self._manuscript)
        mark = watermark(self._mark, layout.typeface, self._names, layout.width, layout.height) if self._mark else ""
        for index, page in enumerate(self._pages):
            if mark and page.kind != "cover":
                canvas.draw([mark])
            self._draw(index, page)
            if self._digital:
                self._lead(page)
            canvas.showPage()
        self._label_pages()
        if self._digital:
            self._outline()
            self._tags.write(canvas, layout.structure)
            canvas.setViewerPreference("DisplayDocTitle", "true")
            make_archival(canvas, self._manuscript)
        canvas.save()
        return self._file.getvalue()

    def _draw(self, index: int, page: Page) -> None:
        """Neighbouring lines of one paragraph share one marked stretch."""
        texts: list[str] = []
        at = 0
        placed = page.placed
        while at < len(placed):
            mark = placed[at].mark
            if not isinstance(mark, Text):
                self._flush(texts)
                self._draw_figure(index, placed[at])
                at += 1
                continue
            end = at
            lines: list[str] = []
            while end < len(placed) and isinstance(other := placed[end].mark, Text) and other.element is mark.element:
                lines.append(
                    self._text.operators(other.line, placed[end].x + other.x, placed[end].y + other.dy, other.size)
                )
                end += 1
            texts.append(self._tags.begin(index, mark.element) + "\n".join(lines) + self._tags.end())
            at = end
        self._flush(texts)

    def _flush(self, texts: list[str]) -> None:
        if texts:
            self._canvas.draw(["BT", *texts, "ET"])
            texts.clear()

    def _draw_figure(self, index: int, placed: Placed) -> None:
        mark = placed.mark
        x, y = placed.x + mark.x, placed.y + (mark.dy if not isinstance(mark, Text) else 0.0)
        if isinstance(mark, Rule):
            line = f"q {mark.thickness:.2f} w {x:.2f} {y:.2f} m {x + mark.width:.2f} {y:.2f} l S Q"
            self._canvas.draw([self._tags.begin(index, None) + line + self._tags.end()])
        elif isinstance(mark, Image):
            self._canvas.draw([self._tags.begin(index, mark.element)])
            reader = ImageReader(BytesIO(mark.picture.data))
            self._canvas.drawImage(reader, x, y, mark.width, mark.height)
            self._canvas.draw([self._tags.end()])

    def _lead(self, page: Page) -> None:
        """Places that links and the outline lead to, and the links themselves."""
        for name in page.anchors:
            self._canvas.bookmarkPage(name)

    def _label_pages(self) -> None:
        front = self._layout.front_pages
        if front:
            self._canvas.addPageLabel(0, "ROMAN_LOWER", 1)
        if len(self._pages) > front:
            self._canvas.addPageLabel(front, "ARABIC", 1)

    def _outline(self) -> None:
        shown = {name for page in self._pages for name in page.anchors}
        for section in self._manuscript.chapters:
            if anchor(section) in shown:
                self._canvas.addOutlineEntry(section.title.strip() or str(section.number), anchor(section), 0, False)
