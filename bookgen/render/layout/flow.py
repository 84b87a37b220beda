"""Converts the blocks of a chapter to rows on the baseline grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bookgen.render import model
from bookgen.render.characters import is_wide
from bookgen.render.layout.bidi import reads_rtl
from bookgen.render.layout.code_blocks import CodeStyle, code_rows, code_style
from bookgen.render.layout.initial import DEPTH, set_lead_in, take_initial
from bookgen.render.layout.lines import Align, Line, Shape, Tail
from bookgen.render.layout.looseness import Looseness, SetParagraph
from bookgen.render.layout.rows import Element, Image, Row, TextMark, blank, text_rows
from bookgen.render.layout.setter import Setter
from bookgen.render.layout.tables import table_rows
from bookgen.render.layout.words import Words
from bookgen.render.model import (
    TURNED_EMS,
    Block,
    Section,
    Span,
    Spans,
    begins_with,
)
from bookgen.render.plays import ABOVE_SPEECH, Role, roles
from bookgen.render.scene_breaks import SCENE_BREAK
from bookgen.render.verse_lines import lines_in_quote

_NARROW = 13  # ems; narrower lines are not justified
_KEPT_LINES = 8  # verse, a list or a quotation of up to this many lines is kept on one page
_KEPT_STANZA = 20  # the same for a stanza of a book of verse
_ABOVE_POEM = 2  # lines above a heading in a book of verse, where stanzas are a line apart
_ABOVE_SECTION, _BELOW_SECTION = 1.5, 0.5  # lines: a heading belongs to the text below it
_GAP = 0.45  # ems between the label of a list item and its text; none if the label fills the em
_HEADING_SCALE = {2: 1.18, 3: 1.06, 4: 1.0}


@dataclass(frozen=True, slots=True)
class TextFrame:
    """The frame that blocks are set in: insets in points at the start and end of lines, and the structure element."""

    left: float
    right: float
    element: Element


class Flow:
    """Fills `rows` with one chapter. Blocks are numbered in order, so that each row knows its source."""

    def __init__(self, setter: Setter, element: Element) -> None:
        self._setter = setter
        self.geometry = setter.geometry
        self._rtl = setter.language.rtl
        self._maker = setter.maker
        self._breaker = setter.breaker
        self.outermost = TextFrame(0.0, 0.0, element)
        self._block = -1
        self._flush = True  # the next paragraph has no indent, unless the language indents all paragraphs
        self._is_line = False  # the current block has no indent in any language
        self._is_speech = False  # the current block of the chapter begins with a dash, below a table or the like
        self._role: Role | None = None  # of the current block, in a play
        self._in_item = False
        self._level = 1  # the level of the last heading; 1 is the chapter's own
        self._in_verse = False
        self._code_style = CodeStyle(self.geometry.size, 0.0)
        self.headings: list[int] = []  # the row at which each heading begins
        self.rows: list[Row] = []
        self._rows_above = 0  # rows of the label above the text
        self.looseness = Looseness(setter.breaker)

    def chapter(self, section: Section) -> None:
        self._in_verse = section.verse
        measure, step = self._measure(self.outermost), self._step(self.outermost)
        self._code_style = code_style(section.blocks, self._setter, measure, step)
        language = self._setter.language
        poems = {poem.block: poem for poem in section.poems}
        roles_of = roles(section.blocks)
        for index, block in enumerate(section.blocks):
            self._is_speech = language.speaks_with_dashes and model.is_speech_after(block, section.blocks[:index][-1:])
            self._role, self._is_line = roles_of.get(index), model.is_label(block)
            apart = not roles_of and model.stands_apart(section.blocks, index)
            if apart or (not roles_of and model.needs_space_above(section.blocks, index)):
                self.space()
            self._flush |= apart
            self.block(block, self.outermost)
            if apart:
                self.space()
            self._flush |= apart or model.is_label(block)
            if poem := poems.get(index):
                title = self.rows[self.headings[-1]]
                title.anchor, title.begins_page = poem.anchor, poem.begins_page
            if index == 0 and section.labelled:
                self._rows_above = len(self.rows)
            self._keep_announcement(section.blocks, index)
        for row in self.rows if roles_of else ():
            row.off_grid = True  # speeches are half a line apart
        while self.rows and self.rows[-1].blank:
            self.rows.pop()

    def _keep_announcement(self, blocks: Sequence[Block], index: int) -> None:
        """Keep the end of block `index` on the page of the next block if it announces that block."""
        if self.rows and model.announces(blocks, index):
            for row in self.rows[-2:] if self.rows[-1].blank else self.rows[-1:]:
                row.keep = True

    def block(self, block: Block, frame: TextFrame) -> None:
        match block:
            case model.Paragraph(spans):
                self._speech(spans) if self._role and frame is self.outermost else self._paragraph(spans, frame)
                return
            case model.Heading(level, spans):
                self._heading(level, spans, frame)
            case model.Quote(blocks):
                self._quote(blocks, frame)
            case model.ItemList():
                self._list(block, frame)
            case model.SceneBreak():
                self._scene_break(frame)
            case _:
                self._set_apart(block, frame)
        self._flush = True

    def _set_apart(self, block: Block, frame: TextFrame) -> None:
        """Add verse, code, a table or a figure, between blank lines."""
        self.space()
        self._block += 1
        match block:
            case model.Verse():
                self._verse(block, frame)
            case model.Code(lines):
                self._code(lines, frame)
            case model.Table():
                self._table(block, frame)
            case model.Figure():
                self._figure(block, frame.element)
        self.space()

    def space(self, units: float = 1, *, keep: bool = False) -> None:
        """Add a blank row, unless the last row is blank or there is none. `keep`: keep it with the next row."""
        if self.rows and not self.rows[-1].blank:
            self.rows.append(blank(units, keep=keep))
        elif self.rows and keep:
            self.rows[-1].keep = True

    def _x(self, frame: TextFrame) -> float:
        """The x of the text's left edge."""
        return frame.right if self._rtl else frame.left

    def _measure(self, frame: TextFrame) -> float:
        return max(self.geometry.size * 6, self.geometry.measure - frame.left - frame.right)

    def _align_in(self, measure: float) -> Align:
        """The alignment for this line width. Narrow lines are not justified, as their few spaces would be too wide."""
        return self._setter.body_align if measure >= _NARROW * self.geometry.size else Align.START

    def _paragraph(self, spans: Spans, frame: TextFrame) -> None:
        self._block += 1
        flush = self._flush and (self._in_item or not self._setter.language.indents_first)
        flush = (flush and not self._is_speech) or self._is_line or model.stands_in_lines(spans)
        flush = flush or begins_with(spans, self._setter.language.flush_marks)
        indent = 0.0 if flush else self._setter.indent
        parts = model.lines_by_hand(spans)
        if len(parts) > 1:
            self._broken(parts, frame, indent)
            return
        words = self._words(spans, (spans,))
        measure, x = self._measure(frame), self._x(frame)
        shape = Shape(measure, self.geometry.size, indent, self._align_in(measure))
        initial = None
        if len(self.rows) == self._rows_above:
            if self._setter.settings.drop_caps and len(self._breaker.lines(words, shape)) >= DEPTH:
                initial = take_initial(words, shape, self.geometry.lead)
            if frame is self.outermost:
                set_lead_in(words, self._maker.typeface)
        if initial is not None:
            shape = initial[2]
        lines = self._breaker.lines(words, shape)
        paragraph = SetParagraph(words, shape, x, frame.element.child("P"), self._block, lines)
        rows = self.looseness.add(paragraph)
        if initial is not None:
            line, size, _ = initial
            drop = -(DEPTH - 1) * self.geometry.lead
            rows[0].marks.insert(0, TextMark(line, x, size, paragraph.element, drop))
            for row in rows[: DEPTH - 1]:
                row.keep = True
        self.rows += rows
        self._flush = False

    def _speech(self, spans: Spans) -> None:
        """Add a speech, whose lines after the first are indented, or a direction, all of whose lines are."""
        self._block += 1
        self.space(ABOVE_SPEECH)
        turned = TURNED_EMS * self.geometry.size
        indent = 0.0 if self._role is Role.DIRECTION else -turned
        self._broken(model.lines_by_hand(spans), replace(self.outermost, left=turned), indent, Align.START)
        self.rows[-1].keep = self._role is Role.CUE

    def _words(self, spans: Spans, lines: Sequence[Spans], *, wide: bool = False) -> Words:
        """The words of `spans`, which are one of the `lines` of a paragraph or poem.

        The text direction (left to right or right to left) is determined from all `lines`, so that each line has the
        same direction. In an item of a bulleted or numbered list, it is always the direction of the book. `wide`: keep
        the width of several spaces in a row.
        """
        words = self._maker.words_as_spaced(spans) if wide else self._maker.words(spans)
        if (self._rtl or words.mixed) and not self._in_item:
            words.rtl = reads_rtl(lines, self._rtl)
        return words

    def _broken(self, parts: Sequence[Spans], frame: TextFrame, indent: float, align: Align | None = None) -> None:
        """Add a paragraph with the author's own line breaks. `align`: None for the alignment of the body text."""
        x, measure, size, element = self._x(frame), self._measure(frame), self.geometry.size, frame.element.child("P")
        before = 0
        for part in parts:
            words = self._words(part, parts)
            lines = self._breaker.lines(words, Shape(measure, size, indent, align or self._align_in(measure)))
            if lines and part is not parts[-1]:
                lines[-1].tail = Tail.SPACE
            self.rows += text_rows(lines, words, x, size, element, block=self._block, before=before)
            before += len(words.tokens)
            indent = 0.0
        self._flush = False

    def _put(
        self, lines: Sequence[Line], words: Words, frame: TextFrame, size: float, *, keep: bool = False, before: int = 0
    ) -> None:
        x, block = self._x(frame), self._block
        self.rows += text_rows(lines, words, x, size, frame.element, block=block, before=before, keep=keep)

    def _heading(self, level: int, spans: Spans, frame: TextFrame) -> None:
        self._block += 1
        self.space(keep=True)
        if self.rows and (self._in_verse or level == 2):
            self.rows[-1].units = _ABOVE_POEM if self._in_verse else _ABOVE_SECTION
        self.headings.append(len(self.rows))
        size = self.geometry.size * _HEADING_SCALE[level]
        self._level = min(level, self._level + 1)  # tagged headings must not skip a level
        heading = replace(frame, element=frame.element.child(f"H{self._level}"))
        parts, before = model.lines_by_hand(spans), 0
        for part in parts:
            words = self._maker.words(part, bold=level < 4, italic=level == 4)
            lines = self._breaker.lines(words, Shape(self._measure(frame), size, align=Align.START))
            if lines and part is not parts[-1]:
                lines[-1].tail = Tail.SPACE
            self._put(lines, words, heading, size, keep=True, before=before)
            before += len(words.tokens)
        for row in self.rows[self.headings[-1] :]:
            row.off_grid = True
        if level == 2:
            self.rows.append(blank(1 if self._in_verse else _BELOW_SECTION, keep=True))

    def _quote(self, blocks: Sequence[Block], frame: TextFrame) -> None:
        self.space()
        self._flush = True
        step = self._step(frame)
        quote = TextFrame(frame.left + step, frame.right + step, frame.element.child("BlockQuote"))
        lines, start = lines_in_quote(blocks), len(self.rows)
        for index, block in enumerate(blocks):
            self._is_line = index in lines and isinstance(block, model.Paragraph)
            self.block(block, quote)
            self._keep_announcement(blocks, index)
        self._is_line = False
        self._keep_short(start)
        self.space()

    def _step(self, frame: TextFrame) -> float:
        """The inset of one more level of quotes or lists. 0 if less than half the line width would be left."""
        step, measure = self.geometry.inset, self.geometry.measure
        return step if measure - frame.left - frame.right - 2 * step > measure / 2 else 0.0

    def _list(self, block: model.ItemList, frame: TextFrame) -> None:
        outer = frame.left == 0.0
        if outer:
            self.space()
        bullets = self._setter.language.bullets
        signs = [block.sign(number, outer=outer, bullets=bullets) for number in range(len(block.items))]
        labels = list(map(self._label, signs))
        gap = self.geometry.size * _GAP * (not is_wide(signs[0]))
        step = self._step(frame) or self.geometry.size
        widest = gap + max(label.width for label in labels)
        if 2 * (frame.left + widest + frame.right) < self.geometry.measure:  # a high number is wider than a step
            step = max(step, widest)
        numbering = "Disc" if block.start is None else "Decimal"
        inner = frame.element.child("L", attributes=f"/O/List/ListNumbering/{numbering}")
        loose = any(len(item) > 1 for item in block.items) and any(
            not isinstance(item[-1], model.ItemList) for item in block.items if len(item) > 1
        )
        starts = []
        for number, (label, item) in enumerate(zip(labels, block.items, strict=True)):
            if number and loose:
                self.space()
            starts.append(len(self.rows))
            self._item(label, gap, item, TextFrame(frame.left + step, frame.right, inner.child("LI")))
        self._keep_items(starts)
        if outer:
            self.space()

    def _keep_items(self, starts: Sequence[int]) -> None:
        """Keep the first two and the last two items of a list together, and a short list whole.

        `starts`: the rows at which the items begin.
        """
        for start in {*starts[1:2], *starts[1:][-1:]}:
            above = start - 2 if self.rows[start - 1].blank else start - 1
            self.rows[above].keep = True
        self._keep_short(starts[0])

    def _keep_short(self, start: int) -> None:
        """Keep what was set since row `start` on one page if it is short and leaves no large gap."""
        if len(self.rows) - start <= _KEPT_LINES:
            for row in self.rows[start:-1]:
                row.together = True

    def _label(self, sign: str) -> Line:
        words = self._maker.words((Span(sign),))
        (line,) = self._breaker.lines(words, Shape(self.geometry.measure, self.geometry.size, align=Align.START))
        line.x = 0.0
        return line

    def _item(self, label: Line, gap: float, blocks: Sequence[Block], frame: TextFrame) -> None:
        """Add an item. `gap`: the space between its label and its text, in points."""
        element = frame.element.child("Lbl")
        body = replace(frame, element=frame.element.child("LBody"))
        at = len(self.rows)
        outer, self._in_item = self._in_item, True
        for index, block in enumerate(blocks):
            self._flush = not (index and isinstance(blocks[index - 1], model.Paragraph))
            self.block(block, body)
            self._keep_announcement(blocks, index)
        self._in_item = outer
        while at < len(self.rows) and self.rows[at].blank:
            at += 1
        if at == len(self.rows):
            self.rows.append(Row())
        for row in self.rows[at:]:
            row.paragraph = -1  # a paragraph that is set again would lose its label
        x = self.geometry.measure - frame.left + gap if self._rtl else frame.left - label.width - gap
        self.rows[at].marks.insert(0, TextMark(label, x, self.geometry.size, element))

    def _verse(self, verse: model.Verse, frame: TextFrame) -> None:
        """Add verse. No word is divided, and the rest of a long line is indented further than any line of the poem.

        Only verse within prose gets an inset.
        """
        geometry, verses = self.geometry, verse.lines
        size = geometry.size
        inset = 0.0 if frame.right or self._in_verse else self._step(frame)
        turned = geometry.verse_indent(verse.deepest) + TURNED_EMS * size
        line = TextFrame(frame.left + inset + turned, frame.right, frame.element.child("P"))
        for index, spans in enumerate(verses):
            words = self._words(spans, verses, wide=self._in_verse)
            indent = geometry.verse_indent(verse.indent(index)) - turned
            shape = Shape(self._measure(line), size, indent, Align.START, hyphenated=False)
            lines = self._breaker.lines(words, shape)
            kept = index < len(verses) - 1 and len(verses) <= (_KEPT_STANZA if self._in_verse else _KEPT_LINES)
            if lines and index < len(verses) - 1:
                lines[-1].tail = Tail.SPACE
            self._put(lines, words, line, size, keep=kept)

    def _code(self, lines: Sequence[str], frame: TextFrame) -> None:
        style = self._code_style
        code = TextFrame(frame.left + min(style.indent, self._step(frame)), frame.right, frame.element.child("Code"))
        x, measure = self._x(code), self._measure(code)
        self.rows += code_rows(lines, self._setter, x, measure, style.size, code.element, self._block)

    def _table(self, block: model.Table, frame: TextFrame) -> None:
        rows = table_rows(block, self._setter, self._x(frame), self._measure(frame), frame.element)
        for row in rows:
            row.block = self._block
        self.rows += rows

    def _figure(self, block: model.Figure, element: Element) -> None:
        geometry = self.geometry
        measure = geometry.measure
        caption = self._maker.words(block.caption, italic=True) if block.caption else None
        shape = Shape(measure * 0.9, geometry.note_size, align=Align.CENTER)
        lines = self._breaker.lines(caption, shape) if caption else []
        room = (geometry.lines - len(lines) - 2) * geometry.lead
        width, height = block.picture.printed(measure, room)
        units = math.ceil((height + geometry.size * 0.4) / geometry.lead)
        drop = (units - 1) * geometry.lead
        shown = element.child("Figure", alt=block.alt)
        image = Image(block.picture, (measure - width) / 2, -drop, width, height, shown)
        self.rows.append(Row(marks=[image], units=units, keep=bool(lines), block=self._block))
        if caption:
            inset = measure * 0.05
            self._put(lines, caption, TextFrame(inset, inset, element.child("Caption")), geometry.note_size)

    def _scene_break(self, frame: TextFrame) -> None:
        if not self.rows:
            return
        self.space(keep=True)
        size = self.geometry.size
        words = self._maker.words((Span(SCENE_BREAK),))
        (line,) = self._breaker.lines(words, Shape(self._measure(frame), size, align=Align.CENTER))
        self.rows.append(Row(marks=[TextMark(line, self._x(frame), size)], keep=True))
        self.space(keep=True)
