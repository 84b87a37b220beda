"""Writes a manuscript as a Word document with embedded fonts.

Its table of contents shows the PDF's page numbers until Word updates them.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part

from bookgen.render.archive import rezip
from bookgen.render.docx.body import BodyWriter
from bookgen.render.docx.fonts import embed_fonts
from bookgen.render.docx.properties import CUSTOM_TYPE, custom_properties
from bookgen.render.docx.styles import StyleSheet, size
from bookgen.render.docx.watermark import watermark_paragraph
from bookgen.render.docx.xml import (
    DECLARATION,
    NAMESPACES,
    bookmark,
    bookmarked,
    field,
    paragraph,
    spacing,
    text,
    twips,
)
from bookgen.render.headings import chapter_heading
from bookgen.render.layout.front import copyright_paragraphs, title_scale
from bookgen.render.layout.geometry import geometry
from bookgen.render.layout.page import Pagination
from bookgen.render.locales import language
from bookgen.render.model import Manuscript, Picture, Section
from bookgen.render.pictures import reduced
from bookgen.render.plays import roles
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import INCH

_PART_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.{}+xml"
_KINDS = ("default", "even", "first")


# For picture books: each spread fits on one page, which the author can rearrange.
_SPREAD_SIZE = 14.0  # points of the text
_NUMBER_EMS = 2.0  # the column of the chapters' numbers in the contents
_SPREAD_PICTURE = 0.38  # of the page's height
_SPREAD_PIXELS = 1_600


def write_docx(manuscript: Manuscript, pagination: Pagination, settings: ExportSettings) -> bytes:
    if manuscript.ages:
        points = min(settings.font_size or _SPREAD_SIZE, _SPREAD_SIZE)
        settings = replace(settings, font_size=points, chapter_starts="any", running_heads=False)
    return _DocxWriter(manuscript, pagination, settings).file()


class _DocxWriter:
    def __init__(self, manuscript: Manuscript, pagination: Pagination, settings: ExportSettings) -> None:
        self._manuscript = manuscript
        self._pagination = pagination
        self._settings = settings
        self._language = language(manuscript.language)
        leading, ideographic = self._language.leading, self._language.ideographic
        self._geometry = geometry(settings, manuscript.trim, leading=leading, ideographic=ideographic)
        self._document = docx.Document()
        self._links: dict[str, str] = {}
        chapters = manuscript.chapters
        poems = (poem.anchor for section in chapters for poem in section.poems)
        self._poems = {poem: number for number, poem in enumerate(poems, len(chapters))}  # bookmarks by anchor
        self._body = BodyWriter(self._geometry, self._link, self._embed, self._poems, language=self._language)

    def file(self) -> bytes:
        document = self._document
        self._drop_old_styles()
        has_plays = any(roles(section.blocks) for section in self._manuscript.chapters)
        has_poems = bool(self._poems)
        styles = StyleSheet(document, self._geometry, self._settings, self._language, poems=has_poems, plays=has_plays)
        styles.apply()
        shared = self._headers_and_footers()
        plain = self._plain_headers_and_footers()
        chapters = self._manuscript.chapters
        out = [self._front(plain)]
        for index, section in enumerate(chapters):
            out.append(self._chapter(index, section))
            numbers = '<w:pgNumType w:fmt="decimal" w:start="1"/>' if index == 0 else ""
            properties = self._section(shared | self._chapter_head(section), self._section_type, numbers)
            out.append(_break(properties) if index < len(chapters) - 1 else properties)
        self._notes()
        self._properties()
        # The body is written as text, because python-docx's object tree would be slow for a whole book.
        body = f"{DECLARATION}<w:document {NAMESPACES}><w:body>{''.join(out)}</w:body></w:document>"
        fonts = embed_fonts(document, body + "".join(self._body.notes), self._settings, self._language)
        buffer = io.BytesIO()
        document.save(buffer)
        return rezip(buffer.getvalue(), {"word/document.xml": body.encode(), "word/fontTable.xml": fonts})

    @property
    def _section_type(self) -> str:
        """The Word section type of a chapter: "oddPage" to begin it on a right-hand page, else "nextPage".

        "oddPage" is used only in the print profile, if the settings ask for it. Known limitation: after a blank page
        that it inserts, LibreOffice omits a running head.
        """
        printed = self._settings.profile == "print"
        return "oddPage" if printed and self._settings.chapter_starts == "right" else "nextPage"

    def _drop_old_styles(self) -> None:
        """Remove the template's second style part, which contradicts the first."""
        relations = self._document.part.rels
        for key in [key for key, relation in relations.items() if relation.reltype.endswith("/stylesWithEffects")]:
            del relations[key]

    # front matter

    def _front(self, headers_and_footers: dict[str, str]) -> str:
        book, settings = self._manuscript, self._settings
        out: list[str] = []
        if settings.include_cover and book.cover:
            out.append(self._cover(book.cover))
        if settings.include_title_page:
            smaller = size(self._geometry.size * title_scale(book.title)) if len(book.title) > 40 else ""
            out.append(paragraph("Title", text(book.title, smaller), "<w:pageBreakBefore/>" * bool(out)))
            if book.subtitle:
                out.append(paragraph("Subtitle", text(book.subtitle)))
            out.append(paragraph("BookAuthor", text(book.author)))
            if book.notice:
                lower = spacing(twips(self._geometry.lead * 2), 0)
                out.append(paragraph("BookAuthor", text(book.notice, size(self._geometry.size * 0.9)), lower))
            if settings.publisher:
                lower = spacing(twips(self._geometry.lead * 6), 0)
                out.append(paragraph("BookAuthor", text(settings.publisher), lower))
        if settings.include_copyright_page:
            lines = copyright_paragraphs(book, settings, self._language)
            above = self._geometry.lines - 2 - 1.5 * sum(1 + len(each) // 70 for each in lines)
            out += self._page("BookSmall", lines, above)
        if settings.dedication:
            out += self._page("BookDedication", settings.dedication.split("\n"), self._geometry.lines * 0.3)
        if settings.include_toc and book.has_contents:
            out.append(paragraph("ContentsHeading", text(self._language.contents), "<w:pageBreakBefore/>" * bool(out)))
            out += self._contents()
        if not out:
            return ""
        numbers = '<w:pgNumType w:fmt="lowerRoman" w:start="1"/>'
        return "".join(out) + _break(self._section(headers_and_footers, "nextPage", numbers))

    def _page(self, style: str, lines: list[str], sunk: float) -> list[str]:
        """Paragraphs on a page of their own, starting `sunk` lines below the top."""
        space = f'<w:pageBreakBefore/><w:spacing w:before="{twips(max(0.0, sunk) * self._geometry.lead)}"/>'
        return [paragraph(style, text(line), space * (index == 0)) for index, line in enumerate(lines)]

    def _cover(self, picture: Picture) -> str:
        geometry = self._geometry
        width = min(geometry.measure, geometry.lines * geometry.lead * 0.95 * picture.width / picture.height)
        alt = self._language.comma.join((self._manuscript.title, self._manuscript.author))
        return paragraph("BookFigure", self._body.drawing(picture, alt, width, width * picture.height / picture.width))

    def _contents(self) -> list[str]:
        """The entries of the table of contents: the chapters, and below each chapter its poems."""
        out = []
        above = spacing(twips(self._geometry.lead / 2), 80)
        column = twips(self._geometry.size * _NUMBER_EMS)
        for index, section in enumerate(self._manuscript.chapters):
            if not section.repeats_book_title:
                label = self._pagination.chapter_labels[section.number]
                properties = f"<w:keepNext/>{above}" * bool(section.poems)
                number = section.number if chapter_heading(section, self._settings, self._language)[0] else None
                properties += f'<w:ind w:left="{column}" w:hanging="{column}"/>' * (number is not None)
                out.append(_entry("TOC1", section.name, index, label, properties, number=number))
            style = "TOC1" if section.repeats_book_title else "TOC2"
            for poem in section.poems:
                number, label = self._poems[poem.anchor], self._pagination.poem_labels[poem.anchor]
                out.append(_entry(style, poem.title, number, label))
        return out

    # chapters

    def _spread(self, index: int, section: Section) -> str:
        """A spread (two facing pages) of a picture book, put on one page: its title, its picture, its text."""
        heading = bookmarked(index, text(section.name, size(self._geometry.size)))
        out = [paragraph("Heading1", heading, spacing(0, twips(self._geometry.lead / 2)))]
        for figure in section.figures:
            width = self._geometry.trim.height * _SPREAD_PICTURE
            height = width * figure.picture.height / figure.picture.width
            shown = self._body.drawing(reduced(figure.picture, _SPREAD_PIXELS), figure.alt, width, height)
            out.append(paragraph("BookFigure", shown))
        return "".join(out) + self._body.chapter(section.without_figures())

    def _chapter(self, index: int, section: Section) -> str:
        if self._manuscript.ages:
            return self._spread(index, section)
        label, title = chapter_heading(section, self._settings, self._language)
        if not title:
            sunk = paragraph("BookFirst", "", spacing(0, twips(self._geometry.lead * 7)))
            return sunk + self._body.chapter(section)
        smaller = size(self._geometry.size * (1.6 if len(title) <= 120 else 1.3)) if len(title) > 60 else ""
        heading = bookmarked(index, text(title, smaller))
        lead = twips(self._geometry.lead)
        below = spacing(lead, lead * 3) if label else ""
        number = paragraph("ChapterNumber", text(label)) if label else ""
        return number + paragraph("Heading1", heading, below) + self._body.chapter(section)

    # sections, heads and folios

    def _section(self, headers_and_footers: dict[str, str], section_type: str, numbers: str) -> str:
        geometry = self._geometry
        trim = geometry.trim
        inside = geometry.inside(self._pagination.pages)
        margins = {
            "top": geometry.top - geometry.size * 0.75,
            "right": geometry.margins - inside,
            "bottom": geometry.foot - geometry.size * 0.4,
            "left": inside,
            "header": max(0.5 * INCH, geometry.head - geometry.small),
            "footer": 0.5 * INCH,
            "gutter": 0,
        }
        attributes = " ".join(f'w:{name}="{twips(value)}"' for name, value in margins.items())
        references = "".join(
            f'<w:{part}Reference w:type="{kind}" r:id="{headers_and_footers[f"{part}-{kind}"]}"/>'
            for part in ("header", "footer")
            for kind in _KINDS
        )
        bidi = "<w:bidi/>" if self._language.rtl else ""
        return (
            f"<w:sectPr>{references}"
            f'<w:type w:val="{section_type}"/>'
            f'<w:pgSz w:w="{twips(trim.width)}" w:h="{twips(trim.height)}"/>'
            f"<w:pgMar {attributes}/>{numbers}<w:titlePg/>{bidi}</w:sectPr>"
        )

    def _headers_and_footers(self) -> dict[str, str]:
        """Add the headers and footers that all chapters share. Returns their ids by names such as "header-even".

        The header of left pages has the book's title, and the footer of all pages has the page number, each only if the
        settings include it. The header of a chapter's first page is empty. `_chapter_head` adds the headers of right
        pages.
        """
        heads, folios = self._settings.running_heads, self._settings.page_numbers
        number = paragraph("Footer", field("PAGE", "1") if folios else "")
        return {
            "header-even": self._header(
                paragraph("Header", text(self._in_a_line(self._manuscript.title)) if heads else "")
            ),
            "header-first": self._header(paragraph("Header", "")),
            **dict.fromkeys((f"footer-{kind}" for kind in _KINDS), self._footer(number)),
        }

    def _chapter_head(self, section: Section) -> dict[str, str]:
        """Add the header of a chapter's right pages, with its title. Returns its id by the name "header-default".

        If possible, the title is a Word field, which Word updates when the heading is edited.
        """
        shown = self._in_a_line(section.name)
        _, heading = chapter_heading(section, self._settings, self._language)
        named = field('STYLEREF "heading 1"', shown) if heading and shown == section.name else text(shown)
        head = paragraph("Header", named if self._settings.running_heads else "", '<w:jc w:val="right"/>')
        return {"header-default": self._header(head)}

    def _in_a_line(self, title: str) -> str:
        """The title, shortened to one line for a running head. A second line would push the text down."""
        letter = 1.0 if max(title, default="") > "\u2e80" else 0.55  # ideographs fill the em
        most = int(self._geometry.measure / self._geometry.small / letter)
        if len(title) <= most:
            return title
        words = title[:most].split()
        return " ".join(words[: max(1, len(words) - 1)]).rstrip(" ,;:—–-") + "…"

    def _plain_headers_and_footers(self) -> dict[str, str]:
        header, footer = self._header(paragraph("Header", "")), self._footer(paragraph("Footer", ""))
        return {f"{part}-{kind}": rid for part, rid in (("header", header), ("footer", footer)) for kind in _KINDS}

    def _header(self, content: str) -> str:
        mark = self._manuscript.watermark
        if mark:
            content += watermark_paragraph(mark, self._geometry, len(self._document.part.rels))
        return self._part("header", RELATIONSHIP_TYPE.HEADER, f"<w:hdr {NAMESPACES}>{content}</w:hdr>")

    def _footer(self, content: str) -> str:
        return self._part("footer", RELATIONSHIP_TYPE.FOOTER, f"<w:ftr {NAMESPACES}>{content}</w:ftr>")

    def _notes(self) -> None:
        if not self._body.notes:
            return
        separators = (
            '<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>'
            '<w:footnote w:type="continuationSeparator" w:id="0">'
            "<w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>"
        )
        sign = '<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteRef/></w:r>' + text(" ")
        notes = "".join(
            f'<w:footnote w:id="{number}">{paragraph("FootnoteText", sign + content)}</w:footnote>'
            for number, content in enumerate(self._body.notes, 1)
        )
        xml = f"<w:footnotes {NAMESPACES}>{separators}{notes}</w:footnotes>"
        self._part("footnotes", RELATIONSHIP_TYPE.FOOTNOTES, xml)

    # the package

    def _part(self, kind: str, relation: str, xml: str) -> str:
        number = sum(
            kind in str(each.target_part.partname) for each in self._document.part.rels.values() if not each.is_external
        )
        name = PackURI(f"/word/{kind}{number + 1 if kind != 'footnotes' else ''}.xml")
        part = Part(name, _PART_TYPE.format(kind), (DECLARATION + xml).encode("utf-8"), self._document.part.package)
        return str(self._document.part.relate_to(part, relation))

    def _link(self, href: str) -> str:
        if href not in self._links:
            self._links[href] = str(self._document.part.relate_to(href, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
        return self._links[href]

    def _embed(self, picture: Picture) -> str:
        identifier, _ = self._document.part.get_or_add_image(io.BytesIO(picture.data))
        return str(identifier)

    def _properties(self) -> None:
        book = self._manuscript
        properties: Any = self._document.core_properties
        properties.title = book.title[:255]
        properties.author = book.author[:255]
        properties.subject = (book.subtitle or book.subject)[:255]
        properties.category = book.subject[:255]
        properties.comments = _shortened(book.blurb)
        properties.language = book.language
        properties.keywords = ""
        properties.last_modified_by = "bookgen"
        properties.revision = 1
        properties.created = properties.modified = book.changed
        if book.source:
            package = self._document.part.package
            part = Part(PackURI("/docProps/custom.xml"), CUSTOM_TYPE, custom_properties(book.source), package)
            package.relate_to(part, RELATIONSHIP_TYPE.CUSTOM_PROPERTIES)


def _shortened(blurb: str) -> str:
    """The blurb cut to 255 characters, the limit of the Word property that stores it."""
    return blurb if len(blurb) <= 255 else f"{blurb[:254].rsplit(maxsplit=1)[0]}…"


def _entry(style: str, title: str, target: int, page: str, properties: str = "", *, number: int | None = None) -> str:
    """An entry of the table of contents, which links to bookmark `target` on page `page`.

    `number`: the chapter's number, if the entry shows it. Each page number is a field of its own, because LibreOffice
    does not update page numbers inside a TOC field.
    """
    tab = "<w:r><w:tab/></w:r>"
    label = "" if number is None else f"{text(str(number))}{tab}"
    shown = field(f"PAGEREF {bookmark(target)} \\h", page, outdated=True)
    link = f'<w:hyperlink w:anchor="{bookmark(target)}" w:history="1">{label}{text(title)}{tab}{shown}'
    return paragraph(style, f"{link}</w:hyperlink>", properties)


def _break(section: str) -> str:
    """A section break. Word stores it in a paragraph, which is one point high so that it causes no extra page."""
    low = '<w:spacing w:before="0" w:after="0" w:line="20" w:lineRule="exact"/><w:rPr><w:sz w:val="2"/></w:rPr>'
    return f"<w:p><w:pPr>{low}{section}</w:pPr></w:p>"
