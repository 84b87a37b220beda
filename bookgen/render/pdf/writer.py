"""Writes a layout as PDF. The digital file gets an outline, links and tags; the print file gets none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bookgen.render.layout.front import anchor
from bookgen.render.layout.page import Layout, Page, Placed
from bookgen.render.layout.rows import Fill, Image, Rule, TextMark
from bookgen.render.model import Manuscript, Picture
from bookgen.render.pdf.archive import describe, make_archival, make_print_ready
from bookgen.render.pdf.emphasis import dot
from bookgen.render.pdf.file import ARCHIVAL, PRESS, OutlineEntry, PdfFile
from bookgen.render.pdf.fontfile import EmbeddedFont
from bookgen.render.pdf.inks import inks, rgb
from bookgen.render.pdf.links import dotted, links, struck
from bookgen.render.pdf.objects import dictionary
from bookgen.render.pdf.tags import Tags
from bookgen.render.pdf.text import TextWriter
from bookgen.render.pdf.watermark import watermark
from bookgen.render.pictures import grey, inked
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import BLEED

PREVIEW_PAGES = 10
PREVIEW_MARK = "PREVIEW"
_RULE = 0.75  # points


def write_pdf(manuscript: Manuscript, layout: Layout, settings: ExportSettings, *, preview: bool = False) -> bytes:
    return _PdfWriter(manuscript, layout, settings, preview).written()


class _PdfWriter:
    def __init__(self, manuscript: Manuscript, layout: Layout, settings: ExportSettings, preview: bool) -> None:
        self._manuscript = manuscript
        self._layout = layout
        self._digital = settings.profile == "digital"
        self._to_inks = None if self._digital else inked if settings.color else grey
        self._bleed = BLEED if settings.bleed else 0.0
        self._pages = layout.pages[:PREVIEW_PAGES] if preview else layout.pages
        self._anchors = {name for page in self._pages for name in page.anchors}
        self._printed: dict[Picture, Picture] = {}  # each picture in the inks of the press
        width, height = layout.width + self._bleed, layout.height + 2 * self._bleed
        self._file = PdfFile(width, height, manuscript.language, ARCHIVAL if self._digital else PRESS)
        self._preview = preview
        self._mark = PREVIEW_MARK if preview else manuscript.watermark
        if self._mark:
            layout.typeface.pieces(self._mark, bold=True)
        self._names = {face.key: EmbeddedFont(face, self._file).name for face in layout.typeface.faces}
        self._text = TextWriter(self._names)
        self._tags = Tags(on=self._digital, pages=len(self._pages))

    def written(self) -> bytes:
        file, layout = self._file, self._layout
        describe(file, self._manuscript)
        mark = watermark(self._mark, layout.typeface, self._names, layout.width, layout.height) if self._mark else ""
        for index, page in enumerate(self._pages):
            shift = self._shift(index)
            if self._bleed:
                file.draw([f"1 0 0 1 {shift:.2f} {self._bleed:.2f} cm"])
            if self._bleed or not self._digital:
                trim = (shift, self._bleed, shift + layout.width, self._bleed + layout.height)
                file.set_boxes(trim=trim, bleed=(0, 0, layout.width + self._bleed, layout.height + 2 * self._bleed))
            ground, above = _parted(page)
            self._draw(index, ground)
            if mark and (self._preview or page.kind != "cover"):
                file.draw([mark])
            self._draw(index, above)
            if self._digital:
                self._add_links(index, page, shift)
            file.end_page()
        self._finish()
        return file.written()

    def _finish(self) -> None:
        file = self._file
        preferences = {"Direction": "/R2L"} if self._layout.rtl else {}
        if self._digital:
            self._label_pages()
            self._outline()
            self._tags.write(file, self._layout.structure)
            preferences["DisplayDocTitle"] = "true"
            if self._layout.facing:
                file.catalog["PageLayout"] = "/TwoPageRight"
            make_archival(file, self._manuscript)
        else:
            make_print_ready(file, self._manuscript)
        if preferences:
            file.catalog["ViewerPreferences"] = dictionary(**preferences)

    def _shift(self, index: int) -> float:
        """How far the page's content is moved to the right, in points.

        Only a left-hand page is moved, by the width of its bleed, which is at its left edge.
        """
        recto_right = (index % 2 == 0) != self._layout.rtl
        return 0.0 if recto_right else self._bleed

    def _draw(self, index: int, placed: Sequence[Placed]) -> None:
        """Draw a page's marks. Consecutive lines of one paragraph share a marked-content sequence."""
        self._text.restart()
        texts: list[str] = []
        strokes: list[str] = []
        at = 0
        while at < len(placed):
            mark = placed[at].mark
            if not isinstance(mark, TextMark):
                self._flush(texts)
                self._draw_figure(index, placed[at])
                at += 1
                continue
            end = at
            opening = self._tags.begin(index, mark.element)
            lines: list[str] = []
            while end < len(placed) and isinstance(other := placed[end].mark, TextMark):
                if other.element is not mark.element:
                    break
                x, y = placed[end].x + other.x, placed[end].y + other.dy
                lines.append(self._text.operators(other.line, x, y, other.size, self._link_marks(index, other)))
                if any(style.strike for style, _ in other.line.segments):
                    strokes += [self._rule(index, *each) for each in struck(other, x, y)]
                if dots := [dot(*each, other.size) for each in dotted(other, x, y)]:
                    strokes.append(f"{self._tags.begin(index, None)}{' '.join(dots)} f{self._tags.end()}")
                end += 1
            texts.append(opening + "\n".join(lines) + self._tags.end())
            at = end
        self._flush(texts)
        self._file.draw(strokes)

    def _link_marks(self, index: int, mark: TextMark) -> Callable[[str], str] | None:
        """A function that tags the links in a line. None if the line has no links, or the file no tags.

        Called with a URL, it returns the operators that begin the link's text; with "", those that end it.
        """
        element, tags = mark.element, self._tags
        if element is None or not tags.on or not any(style.href for style, _ in mark.line.segments):
            return None
        return lambda href: f"{tags.end()}\n{tags.begin(index, tags.link(element) if href else element)}"

    def _flush(self, texts: list[str]) -> None:
        if texts:
            self._file.draw(["BT", *texts, "ET"])
            texts.clear()

    def _draw_figure(self, index: int, placed: Placed) -> None:
        mark = placed.mark
        x, y = placed.x + mark.x, placed.y + mark.dy
        match mark:
            case Rule():
                self._file.draw([self._rule(index, x, y, mark.width)])
            case Image():
                self._file.draw([self._tags.begin(index, mark.element)])
                self._file.draw_picture(self._in_inks(mark.picture), x, y, mark.width, mark.height)
                self._file.draw([self._tags.end()])
            case Fill():
                paint = f"{rgb(mark.colour)} rg" if self._digital else f"{inks(mark.colour)} k"
                box = f"q {paint} {x:.2f} {y:.2f} {mark.width:.2f} {mark.height:.2f} re f Q"
                self._file.draw([self._tags.begin(index, None) + box + self._tags.end()])

    def _rule(self, index: int, x: float, y: float, width: float) -> str:
        line = f"q {_RULE:.2f} w {x:.2f} {y:.2f} m {x + width:.2f} {y:.2f} l S Q"
        return self._tags.begin(index, None) + line + self._tags.end()

    def _in_inks(self, picture: Picture) -> Picture:
        if self._to_inks is None:
            return picture
        if picture not in self._printed:
            self._printed[picture] = self._to_inks(picture)
        return self._printed[picture]

    def _add_links(self, index: int, page: Page, shift: float) -> None:
        """Add the page's link targets and its links."""
        file, up = self._file, self._bleed
        for name in page.anchors:
            file.add_target(name)
        for link in links(page):
            box = (link.x + shift, link.y + up, link.x + shift + link.width, link.y + up + link.height)
            if link.href or link.anchor in self._anchors:
                file.add_link(self._tags.annotate(index, link.element), box, link)

    def _label_pages(self) -> None:
        """Number the pages. The cover is not counted, as in a printed book."""
        front = self._layout.front_pages
        covers = sum(page.kind == "cover" for page in self._pages)
        if covers:
            self._file.name_page(0, self._pages[0].label)
        if front > covers:
            self._file.label_pages(covers, "r")
        if len(self._pages) > front:
            self._file.label_pages(front, "D")

    def _outline(self) -> None:
        for section in self._manuscript.chapters:
            if anchor(section) in self._anchors:
                poems = (
                    OutlineEntry(each.title, each.anchor) for each in section.poems if each.anchor in self._anchors
                )
                self._file.add_outline_entry(OutlineEntry(section.name, anchor(section), tuple(poems)))


def _parted(page: Page) -> tuple[list[Placed], list[Placed]]:
    """Split a page's marks into the background, which is drawn below a watermark, and everything else."""
    match page.placed:
        case [Placed(mark=Fill()), *_]:
            grounds = 1
        case [Placed(mark=Image())] if page.kind in ("chapter", "cover"):
            grounds = 1
        case _:
            grounds = 0
    return page.placed[:grounds], page.placed[grounds:]
