"""Converts blocks to the paragraphs, tables and footnotes of a Word document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from bookgen.render import model
from bookgen.render.characters import is_wide
from bookgen.render.docx.xml import MONO, bookmarked, paragraph, spacing, text, twips
from bookgen.render.layout.bidi import reads_rtl
from bookgen.render.layout.geometry import Geometry
from bookgen.render.layout.notes import note_spans
from bookgen.render.layout.tables import shares
from bookgen.render.locales import Locale
from bookgen.render.model import (
    Block,
    Picture,
    Section,
    Span,
    Spans,
    announces,
    begins_with,
    is_label,
    is_speech_after,
    needs_space_above,
    stands_apart,
    stands_in_lines,
)
from bookgen.render.plays import Role, roles
from bookgen.render.scene_breaks import SCENE_BREAK

_EMU = 12700
_EMPHASIS = {"sesame": '<w:em w:val="comma"/>', "dot": '<w:em w:val="underDot"/>'}
# Tables have rules above, below the head and at the end, as in the printed book.
_RULE = 'w:val="single" w:sz="6" w:space="0" w:color="auto"'
_RULES = f"<w:tblBorders><w:top {_RULE}/><w:bottom {_RULE}/></w:tblBorders>"
_HEAD_RULE = f"<w:tcBorders><w:bottom {_RULE}/></w:tcBorders>"
_MAX_CELL = 40  # letters counted for a column's width; longer texts wrap
_SAMPLE = 200  # rows read to choose the column widths


_KEPT_CODE = 12  # lines of code that are kept on one page
_KEPT_LINES = 8  # a stanza or a list of up to this many lines is kept on one page
_TITLE_LINES = 3  # lines that the title of a poem takes, with the space around it
_LETTERS_AN_EM = 2.1


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of a block within its poem.

    `is_whole`: the poem is short enough to stay on one page. `begins`: the block is the first below the poem's title.
    `ends`: the block is the poem's last.
    """

    is_whole: bool
    begins: bool
    ends: bool


_IN_LONG_POEM = _Place(is_whole=False, begins=False, ends=False)


def _places(blocks: Sequence[Block], geometry: Geometry) -> dict[int, _Place]:
    """The position of each block within its poem, by the block's index in the chapter.

    Used for a chapter of poems, in which each heading begins a poem.
    """
    letters = geometry.measure / geometry.size * _LETTERS_AN_EM  # in a line; an estimate, since Word sets the lines
    titles = [index for index, block in enumerate(blocks) if isinstance(block, model.Heading)]
    places = {}
    for first, end in zip([0, *titles], [*titles, len(blocks)], strict=True):
        stanzas = [block.lines for block in blocks[first:end] if isinstance(block, model.Verse)]
        lines = _TITLE_LINES + sum(1 + sum(1 + _length(line) // letters for line in stanza) for stanza in stanzas)
        for index in range(first, end):
            begins = index == 0 or (index - 1 == first and isinstance(blocks[first], model.Heading))
            places[index] = _Place(lines <= geometry.lines, begins, index == end - 1)
    return places


def _length(spans: Spans) -> int:
    return sum(len(span.text) for span in spans)


class BodyWriter:
    """Writes chapters as XML. `notes` collects the document's footnotes.

    `link` adds a URL to the document and `embed` a picture; both return the id by which the XML refers to it. `poems`
    maps a poem's anchor to the number of its bookmark.
    """

    def __init__(
        self,
        geometry: Geometry,
        link: Callable[[str], str],
        embed: Callable[[Picture], str],
        poems: Mapping[str, int],
        *,
        language: Locale,
    ) -> None:
        self._geometry = geometry
        self._link = link
        self._embed = embed
        self._poems = poems
        self._poem: model.Poem | None = None  # that the current block is the title of
        self._rtl = language.rtl
        self._emphasis = _EMPHASIS.get(language.emphasis, "")
        self._flush_marks = language.flush_marks
        self._bullets = language.bullets
        self._dashes = language.speaks_with_dashes
        self._first_note = 0
        self._drawings = 0
        self._called: set[int] = set()
        self._in_note = False
        self._flush = True
        self._announces = False
        self._has_space_above = False  # whether the current block of the chapter is a label that needs it
        self._role: Role | None = None  # of the current block of the chapter, in a play
        self._apart = False  # whether the current block of the chapter needs space around it
        self._in_verse = False
        self._place = _IN_LONG_POEM  # of the current block, in a book of verse
        self.notes: list[str] = []

    def chapter(self, section: Section) -> str:
        self._first_note = len(self.notes)
        self._flush = True
        self._in_verse = section.verse
        places = _places(section.blocks, self._geometry) if section.verse else {}
        poems = {poem.block: poem for poem in section.poems}
        roles_of = roles(section.blocks)
        body = ""
        for index, block in enumerate(section.blocks):
            self._poem = poems.get(index)
            self._place = places.get(index, _IN_LONG_POEM)
            self._announces = announces(section.blocks, index)
            self._has_space_above = needs_space_above(section.blocks, index)
            self._role = roles_of.get(index)
            self._apart = not roles_of and stands_apart(section.blocks, index)
            if self._dashes and is_speech_after(block, section.blocks[:index][-1:]):
                self._flush = False
            body += self._block(block, 0)
        texts = [note_spans(blocks) for blocks in section.notes]
        called = frozenset(self._called)
        self._in_note = True
        self.notes += [self._note(each, texts) if self._id(each) in called else "" for each in range(len(texts))]
        self._in_note = False
        return body

    def _id(self, note: int) -> int:
        return self._first_note + note + 1

    def _note(self, number: int, texts: Sequence[Spans]) -> str:
        """The text of note `number` as XML, followed by the notes that only this note refers to."""
        out = self.spans(texts[number])
        for span in texts[number]:
            if span.note is not None and self._id(span.note) not in self._called:
                self._called.add(self._id(span.note))
                out += text(" ") + self._span(span) + text(" ") + self._note(span.note, texts)
        return out

    def spans(self, spans: Spans, *, rtl: bool | None = None) -> str:
        """The spans as XML. `rtl`: whether they read from right to left; None means the book's direction."""
        return "".join(self._span(span, self._rtl if rtl is None else rtl) for span in spans)

    def _direction(self, lines: Sequence[Spans]) -> tuple[bool, str]:
        """Whether a text reads from right to left, and the XML property for it if that differs from the book."""
        rtl = reads_rtl(lines, self._rtl)
        return rtl, "" if rtl == self._rtl else f'<w:bidi w:val="{int(rtl)}"/>'

    def _span(self, span: Span, rtl: bool = False) -> str:
        if span.note is not None:
            number = self._id(span.note)
            style = '<w:rStyle w:val="FootnoteReference"/>'
            if self._in_note or number in self._called:  # Word allows one reference per note, and none within notes
                return text(str(number), style)
            self._called.add(number)
            return f'<w:r><w:rPr>{style}</w:rPr><w:footnoteReference w:id="{number}"/></w:r>'
        if span.text == "\n":
            return "<w:r><w:br/></w:r>"
        dotted = span.italic and self._emphasis != "" and any(map(is_wide, span.text))
        properties = (
            '<w:rStyle w:val="Hyperlink"/>' * bool(span.href)
            + MONO * span.code
            + "<w:b/><w:bCs/>" * span.bold
            + "<w:i/><w:iCs/>" * (span.italic and not dotted)
            + "<w:strike/>" * span.strike
            + "<w:noProof/>" * span.code
            + "<w:rtl/>" * (rtl and not span.code)
            + self._emphasis * dotted
        )
        content = text(span.text, properties)
        return f'<w:hyperlink r:id="{self._link(span.href)}">{content}</w:hyperlink>' if span.href else content

    def _block(self, block: Block, depth: int) -> str:
        match block:
            case model.Paragraph(spans) if self._role is not None and depth == 0:
                self._flush = False
                return self._speech(spans, self._role)
            case model.Paragraph(spans):
                label = is_label(block)
                style = "Quote" if depth else "BookFirst" if self._flush or self._apart or label else "BookBody"
                self._flush = self._apart or label
                inset = twips(self._geometry.inset * depth)
                further = f'<w:ind w:left="{inset}" w:right="{inset}" w:firstLine="0"/>' if depth > 1 else ""
                rtl, direction = self._direction((spans,))
                if depth <= 1 and (label or stands_in_lines(spans) or begins_with(spans, self._flush_marks)):
                    further = '<w:ind w:firstLine="0"/>'
                kept = "<w:keepNext/>" * self._announces
                air = twips(self._geometry.lead)
                direction += spacing(air, air) * self._apart + spacing(air, 0) * self._has_space_above
                return paragraph(style, self.spans(spans, rtl=rtl), kept + direction + further)
            case model.Heading(level, spans):
                self._flush = True
                heading = self.spans(spans)
                if self._poem is None:
                    return paragraph(f"Heading{level}", heading)
                named = bookmarked(self._poems[self._poem.anchor], heading)
                return paragraph(f"Heading{level}", named, "<w:pageBreakBefore/>" * self._poem.begins_page)
            case model.Quote(blocks):
                inner = ""
                for index, each in enumerate(blocks):
                    self._announces = announces(blocks, index)
                    inner += self._block(each, depth + 1)
            case model.ItemList():
                inner = self._list(block, 0)
            case model.Verse():
                inner = self._verse(block)
            case model.Code(lines):
                inner = self._code(lines)
            case model.Table():
                inner = self._table(block)
            case model.Figure():
                inner = self._figure(block)
            case model.SceneBreak():
                inner = paragraph("SceneBreak", text(SCENE_BREAK))
        self._flush = True
        return inner

    def _speech(self, spans: Spans, role: Role) -> str:
        rtl, direction = self._direction((spans,))
        style = "BookDirection" if role is Role.DIRECTION else "BookSpeech"
        kept = "<w:keepNext/>" * (self._announces or role is Role.CUE)
        return paragraph(style, self.spans(spans, rtl=rtl), kept + direction)

    def _list(self, block: model.ItemList, level: int) -> str:
        step = self._geometry.inset
        out: list[str] = []
        count = len(block.items)
        is_short = count <= _KEPT_LINES and all(map(self._is_line, block.items))
        for number, item in enumerate(block.items):
            kept = number < count - 1 and (is_short or number in (0, count - 2))
            sign = block.sign(number, outer=level == 0, bullets=self._bullets)
            hang = self._geometry.size if is_wide(sign) else step
            for index, inner in enumerate(item):
                if isinstance(inner, model.ItemList):
                    out.append(self._list(inner, level + 1))
                elif isinstance(inner, model.Paragraph):
                    gap = "" if is_wide(sign) else "<w:r><w:tab/></w:r>"  # a bullet that fills the em needs none
                    label = text(sign) + gap if index == 0 else ""
                    first = self._geometry.indent * isinstance(item[index - 1], model.Paragraph)
                    indent = self._indent(level, step, first=first if index else -hang)
                    together = "<w:keepNext/>" * (kept or announces(item, index))
                    out.append(paragraph("BookList", label + self.spans(inner.spans), together + indent))
                else:
                    out.append(self._block(inner, 0))
        return "".join(out)

    def _is_line(self, item: Sequence[Block]) -> bool:
        """Whether a list item takes only one line. This is an estimate, since Word breaks the lines."""
        letters = self._geometry.measure / self._geometry.size * _LETTERS_AN_EM
        return len(item) == 1 and isinstance(item[0], model.Paragraph) and _length(item[0].spans) <= letters

    def _indent(self, level: int, step: float, *, first: float) -> str:
        """The indents of a list item as XML. `first`: the indent of the first line, negative for a hanging indent."""
        left = twips(step * (level + 1))
        hang = f' w:hanging="{twips(-first)}"' if first < 0 else f' w:firstLine="{twips(first)}"'
        return f'<w:tabs><w:tab w:val="left" w:pos="{left}"/></w:tabs><w:ind w:left="{left}"{hang}/>'

    def _verse(self, verse: model.Verse) -> str:
        """Lines of verse as XML. A short stanza stays on one page, and so does a short poem in a book of verse."""
        lead, last, place = twips(self._geometry.lead), len(verse.lines) - 1, self._place
        rtl, direction = self._direction(verse.lines)
        out = []
        for index, line in enumerate(verse.lines):
            before = 0 if index or place.begins else lead
            after = lead if index == last and not self._in_verse else 0
            goes_on = (place.is_whole or last < _KEPT_LINES) if index < last else place.is_whole and not place.ends
            around = spacing(before, after)
            properties = "<w:keepNext/>" * goes_on + direction + around + self._verse_indent(verse, index)
            out.append(paragraph("BookVerse", self.spans(line, rtl=rtl), properties))
        return "".join(out)

    def _code(self, lines: Sequence[str]) -> str:
        """Code as XML, a paragraph for each line, with space above and below. Short code stays on one page."""
        lead, last = twips(self._geometry.lead), len(lines) - 1
        out = []
        for index, line in enumerate(lines):
            stays = (last < _KEPT_CODE or index in (0, last - 1)) if index < last else self._announces
            kept = "<w:keepNext/>" * stays
            around = spacing(0 if index else lead, lead if index == last else 0)
            out.append(paragraph("BookCode", text(line), kept + around))
        return "".join(out)

    def _verse_indent(self, verse: model.Verse, line: int) -> str:
        """The indents of a verse line in a book of verse. Empty in other books, where the paragraph style sets them."""
        if not self._in_verse:
            return ""
        geometry = self._geometry
        turned = geometry.verse_indent(verse.deepest) + geometry.size * model.TURNED_EMS
        hanging = turned - geometry.verse_indent(verse.indent(line))
        return f'<w:ind w:left="{twips(turned)}" w:hanging="{twips(hanging)}"/>'

    def _table(self, block: model.Table) -> str:
        widths = self._column_widths(block)
        grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
        bidi = "<w:bidiVisual/>" if self._rtl else ""
        rows = [self._row(block.head, block.aligns, widths, head=True, kept=True)] if any(block.head) else []
        last = len(block.rows) - 1
        rows += [
            self._row(row, block.aligns, widths, head=False, kept=block.is_short and index < last)
            for index, row in enumerate(block.rows)
        ]
        if not rows:
            return ""
        size = f'<w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:jc w:val="center"/>'
        properties = f'<w:tblPr><w:tblStyle w:val="TableNormal"/>{bidi}{size}{_RULES}</w:tblPr>'
        air = paragraph("BookTable", "")
        above = paragraph("BookTable", "", "<w:keepNext/>")  # so that a heading stays with the table, not with this
        return f"{above}<w:tbl>{properties}<w:tblGrid>{grid}</w:tblGrid>{''.join(rows)}</w:tbl>{air}"

    def _column_widths(self, block: model.Table) -> list[int]:
        """Column widths in twips, estimated from the longest word and the longest text of each column."""
        letter = self._geometry.note_size * 0.6
        least, most = [], []
        for column in range(len(block.aligns)):
            rows = (block.head, *block.rows[:_SAMPLE])
            texts = [text for row in rows for text in "".join(span.text for span in row[column]).split("\n")]
            least.append(letter * (3 + max(len(word) for text in texts for word in text.split() or [""])))
            most.append(letter * (4 + min(_MAX_CELL, max(map(len, texts)))))
        most = [max(pair) for pair in zip(least, most, strict=True)]
        return [twips(width) for width in shares(least, most, self._geometry.measure)]

    def _row(
        self, cells: Sequence[Spans], aligns: Sequence[str], widths: Sequence[int], *, head: bool, kept: bool
    ) -> str:
        """A table row. `kept`: keep it on the same page as the next row."""
        out = []
        rule = _HEAD_RULE if head else ""
        for spans, align, width in zip(cells, aligns, widths, strict=True):
            side = "left" if self._rtl and align == "right" else align  # in Word, left means the start of the line
            properties = "<w:keepNext/>" * kept + f'<w:jc w:val="{side}"/>' * (align in ("right", "center"))
            if head:
                spans = tuple(replace(span, bold=True) for span in spans)
            content = paragraph("BookTable", self.spans(spans), properties)
            out.append(f'<w:tc><w:tcPr><w:tcW w:w="{width}" w:type="dxa"/>{rule}</w:tcPr>{content}</w:tc>')
        mark = "<w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>" if head else "<w:trPr><w:cantSplit/></w:trPr>"
        return f"<w:tr>{mark}{''.join(out)}</w:tr>"

    def _figure(self, block: model.Figure) -> str:
        picture = block.picture
        geometry = self._geometry
        width, height = picture.printed(geometry.measure, geometry.lines * geometry.lead * 0.8)
        drawing = paragraph("BookFigure", self.drawing(picture, block.alt, width, height))
        return drawing + (paragraph("Caption", self.spans(block.caption)) if block.caption else "")

    def drawing(self, picture: Picture, alt: str, width: float, height: float) -> str:
        self._drawings += 1
        number = self._drawings
        size = f'cx="{round(width * _EMU)}" cy="{round(height * _EMU)}"'
        named = f'id="{number}" name="Picture {number}" descr="{escape(alt)}"'
        return (
            f'<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent {size}/><wp:docPr {named}/>'
            '<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic>'
            f"<pic:nvPicPr><pic:cNvPr {named}/><pic:cNvPicPr/></pic:nvPicPr>"
            f'<pic:blipFill><a:blip r:embed="{self._embed(picture)}"/>'
            "<a:stretch><a:fillRect/></a:stretch></pic:blipFill>"
            f'<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext {size}/></a:xfrm>'
            '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr>'
            "</pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
        )
