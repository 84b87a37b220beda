"""The book set by reportlab's own layout engine, with a table of contents, which needs two passes."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    Image,
    ListFlowable,
    ListItem,
    PageBreak,
    PageTemplate,
    Preformatted,
)
from reportlab.platypus import Paragraph as Flowable
from reportlab.platypus import Table as Grid
from reportlab.platypus.tableofcontents import TableOfContents

from bookgen.render.layout.geometry import Geometry
from bookgen.render.model import (
    Block,
    Code,
    Figure,
    Heading,
    ItemList,
    Manuscript,
    Paragraph,
    Quote,
    SceneBreak,
    Spans,
    Table,
)


def build(text: Manuscript, page: Geometry, fonts: Path, figure: Path, out: Path) -> None:
    for name in ("R", "I", "B", "BI"):
        pdfmetrics.registerFont(TTFont(name, str(fonts / f"{name}.ttf")))
    pdfmetrics.registerFontFamily("R", normal="R", bold="B", italic="I", boldItalic="BI")
    _Template(text, page, str(out)).multiBuild(_Story(text, page, figure).flowables())


class _Template(BaseDocTemplate):  # type: ignore[misc]
    def __init__(self, text: Manuscript, page: Geometry, out: str) -> None:
        super().__init__(out, pagesize=(page.trim.width, page.trim.height), title=text.title, author=text.author)
        self._text, self._page, self._chapter = text, page, ""
        inside = page.inside(300)
        bottom = page.foot - page.size * 0.3
        height = page.trim.height - page.top + page.size - bottom
        for name, left, other in (("odd", inside, "even"), ("even", page.margins - inside, "odd")):
            frame = Frame(left, bottom, page.measure, height, 0, 0, 0, 0)
            self.addPageTemplates([PageTemplate(name, [frame], onPage=self._furniture, autoNextPageTemplate=other)])

    def _furniture(self, canvas: Any, _: Any) -> None:
        canvas.setFont("R", self._page.small)
        number = canvas.getPageNumber()
        canvas.drawCentredString(self._page.trim.width / 2, self._page.folio, str(number))
        head = self._chapter if number % 2 else self._text.title
        canvas.drawString(self._page.inside(300), self._page.trim.height - self._page.head, head)

    def afterFlowable(self, flowable: Any) -> None:
        if getattr(getattr(flowable, "style", None), "name", "") == "h1":
            self._chapter = flowable.getPlainText()
            self.notify("TOCEntry", (0, self._chapter, self.page))


class _Story:
    def __init__(self, text: Manuscript, page: Geometry, figure: Path) -> None:
        self._text = text
        self._figure = figure
        self._page = page
        common: dict[str, Any] = {"fontName": "R", "fontSize": page.size, "leading": page.lead}
        self._body = ParagraphStyle(
            "body",
            alignment=TA_JUSTIFY,
            firstLineIndent=page.indent,
            allowWidows=0,
            allowOrphans=0,
            hyphenationLang="en_US",
            embeddedHyphenation=1,
            **common,
        )
        self._center = ParagraphStyle("center", alignment=TA_CENTER, **common)
        self._quote = ParagraphStyle("quote", parent=self._body, leftIndent=18, rightIndent=18, firstLineIndent=0)
        self._small = ParagraphStyle("small", parent=self._body, fontSize=page.note_size, leading=page.note_lead)
        self._h1 = ParagraphStyle("h1", fontName="R", fontSize=20, leading=24, alignment=TA_CENTER, spaceAfter=40)
        self._h2 = ParagraphStyle("h2", fontName="B", fontSize=12, leading=page.lead, keepWithNext=1)

    def flowables(self) -> list[Any]:
        contents = TableOfContents(levelStyles=[self._center])
        story: list[Any] = [Flowable(self._text.title, self._h1), PageBreak(), contents]
        for section in self._text.chapters:
            story += [PageBreak(), Flowable(html.escape(section.title), self._h1)]
            story += [each for block in section.blocks for each in self._block(block, self._body)]
            for number, note in enumerate(section.notes, 1):
                story += [each for block in note for each in self._block(block, self._small, f"{number} ")]
        return story

    def _block(self, block: Block, style: ParagraphStyle, before: str = "") -> list[Any]:
        match block:
            case Paragraph(spans):
                return [Flowable(before + _markup(spans), style)]
            case Heading(_, spans):
                return [Flowable(_markup(spans), self._h2)]
            case Quote(blocks):
                return [each for inner in blocks for each in self._block(inner, self._quote)]
            case ItemList(items, start):
                rows = [
                    ListItem([each for inner in item for each in self._block(inner, self._quote)]) for item in items
                ]
                return [ListFlowable(rows, bulletType="bullet" if start is None else "1", bulletFontName="R")]
            case Table(_, head, rows):
                return [Grid([[Flowable(_markup(cell), self._small) for cell in row] for row in (head, *rows)])]
            case Code(lines):
                return [Preformatted("\n".join(lines), self._small)]
            case Figure(picture, _, caption):
                image = Image(
                    str(self._figure), *picture.printed(self._page.measure, self._page.lead * self._page.lines)
                )
                return [image, Flowable(_markup(caption), self._center)]
            case SceneBreak():
                return [Flowable("* * *", self._center)]
        return []


def _markup(spans: Spans) -> str:
    out = []
    for span in spans:
        text = f"<super>{span.note + 1}</super>" if span.note is not None else html.escape(span.text)
        text = f"<i>{text}</i>" if span.italic else text
        out.append(f"<b>{text}</b>" if span.bold else text)
    return "".join(out)
