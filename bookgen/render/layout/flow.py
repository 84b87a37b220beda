"""The blocks of a chapter -> rows on the baseline grid."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bookgen.render import model
from bookgen.render.layout.initial import DEPTH, set_lead_in, take_initial
from bookgen.render.layout.lines import Align, Line, Shape, Tail
from bookgen.render.layout.looseness import Looseness, SetParagraph
from bookgen.render.layout.rows import Element, Image, Row, TextMark, blank, text_rows
from bookgen.render.layout.setter import Setter
from bookgen.render.layout.tables import table_rows
from bookgen.render.layout.words import Words
from bookgen.render.model import Block, Section, Span, Spans, lines_by_hand

SCENE_BREAK = "* * *"
_NARROW = 13  # ems
_KEPT_LINES = 8  # of verse or code stay together
_HEADING_SCALE = {2: 1.18, 3: 1.06, 4: 1.0}


class Flow:
    """Fills `rows` with one chapter. Blocks are counted as they come, so that a row can say where its text is from."""

    def __init__(self, setter: Setter, element: Element) -> None:
        self._setter = setter
        self.geometry = setter.geometry
        self._rtl = setter.language.rtl
        self._maker = setter.maker
        self._breaker = setter.breaker
        self._element = element
        self._block = -1
        self._flush = True  # the next paragraph has no indent
        self._level = 1  # of the last heading: the chapter's own
        self.rows: list[Row] = []
        self.looseness = Looseness(setter.breaker)

    def chapter(self, section: Section) -> None:
        for block in section.blocks:
            self.block(block, 0.0, 0.0, self._element)
        while self.rows and self.rows[-1].blank:
            self.rows.pop()

    def block(self, block: Block, left: float, right: float, element: Element) -> None:
        match block:
            case model.Paragraph(spans):
                self._paragraph(spans, left, right, element)
                return
            case model.Heading(level, spans):
                self._heading(level, spans, left, right, element)
            case model.Quote(blocks):
                self._quote(blocks, left, right, element)
            case model.ItemList():
                self._list(block, left, right, element)
            case model.SceneBreak():
                self._scene_break(left, right)
            case _:
                self._set_apart(block, left, right, element)
        self._flush = True

    def _set_apart(self, block: Block, left: float, right: float, element: Element) -> None:
        """What stands between blank lines and is no text that runs on."""
        self.space()
        self._block += 1
        match block:
            case model.Verse(lines):
                self._verse(lines, left, right, element)
            case model.Code(lines):
                self._code(lines, left, right, element)
            case model.Table():
                x, measure = self._x(left, right), self._measure(left, right)
                self._table(table_rows(block, self._setter, x, measure, element))
            case model.Figure():
                self._figure(block, element)
        self.space()

    def space(self, *, keep: bool = False) -> None:
        """Never two blanks in a row, and none before anything stands."""
        if self.rows and not self.rows[-1].blank:
            self.rows.append(blank(keep=keep))
        elif self.rows and keep:
            self.rows[-1].keep = True

    def _x(self, left: float, right: float) -> float:
        """The left edge of text whose insets are `left` at its start and `right` at its end."""
        return right if self._rtl else left

    def _measure(self, left: float, right: float) -> float:
        return max(self.geometry.size * 6, self.geometry.measure - left - right)

    def _align_in(self, measure: float) -> Align:
        """Narrow lines are ragged: there are too few spaces in one to hide the rest."""
        return self._setter.body_align if measure >= _NARROW * self.geometry.size else Align.START

    def _paragraph(self, spans: Spans, left: float, right: float, element: Element) -> None:
        self._block += 1
        indent = 0.0 if self._flush else self._setter.indent
        parts = lines_by_hand(spans)
        if len(parts) > 1:
            self._broken(parts, left, right, element.child("P"), indent)
            return
        words = self._maker.words(spans)
        measure = self._measure(left, right)
        shape = Shape(measure, self.geometry.size, indent, self._align_in(measure))
        initial = None
        if not self.rows:
            if self._setter.settings.drop_caps and len(self._breaker.lines(words, shape)) >= DEPTH:
                initial = take_initial(words, shape, self.geometry.lead)
            set_lead_in(words, self._maker.typeface)
        if initial is not None:
            shape = initial[2]
        lines = self._breaker.lines(words, shape)
        paragraph = SetParagraph(words, shape, self._x(left, right), element.child("P"), self._block, lines)
        rows = self.looseness.add(paragraph)
        if initial is not None:
            line, size, _ = initial
            drop = -(DEPTH - 1) * self.geometry.lead
            rows[0].marks.insert(0, TextMark(line, self._x(left, right), size, paragraph.element, drop))
            for row in rows[: DEPTH - 1]:
                row.keep = True
        self.rows += rows
        self._flush = False

    def _broken(self, parts: Sequence[Spans], left: float, right: float, element: Element, indent: float) -> None:
        """A paragraph with lines that end where its author ended them."""
        before = 0
        for part in parts:
            words = self._maker.words(part)
            measure = self._measure(left, right)
            shape = Shape(measure, self.geometry.size, indent, self._align_in(measure))
            lines = self._breaker.lines(words, shape)
            if lines and part is not parts[-1]:
                lines[-1].tail = Tail.SPACE
            x, size = self._x(left, right), self.geometry.size
            self.rows += text_rows(lines, words, x, size, element, block=self._block, before=before)
            before += len(words.tokens)
            indent = 0.0
        self._flush = False

    def _put(
        self, lines: Sequence[Line], words: Words, x: float, element: Element, size: float, *, keep: bool = False
    ) -> None:
        self.rows += text_rows(lines, words, x, size, element, block=self._block, keep=keep)

    def _heading(self, level: int, spans: Spans, left: float, right: float, element: Element) -> None:
        self._block += 1
        self.space(keep=True)
        size = self.geometry.size * _HEADING_SCALE[level]
        words = self._maker.words(spans, bold=level < 4, italic=level == 4)
        lines = self._breaker.lines(words, Shape(self._measure(left, right), size, align=Align.START))
        self._level = min(level, self._level + 1)  # a reader that steps through headings misses none
        self._put(lines, words, self._x(left, right), element.child(f"H{self._level}"), size, keep=True)
        if level == 2:
            self.rows.append(blank(keep=True))

    def _quote(self, blocks: Sequence[Block], left: float, right: float, element: Element) -> None:
        self.space()
        self._flush = True
        inner = element.child("BlockQuote")
        step = self._step(left, right)
        for block in blocks:
            self.block(block, left + step, right + step, inner)
        self.space()

    def _step(self, left: float, right: float) -> float:
        """One level further in, as long as half the measure is left."""
        step = self.geometry.indent * 1.2
        return step if self.geometry.measure - left - right - 2 * step > self.geometry.measure / 2 else 0.0

    def _list(self, block: model.ItemList, left: float, right: float, element: Element) -> None:
        outer = left == 0.0
        if outer:
            self.space()
        step = self._step(left, right) or self.geometry.size
        numbering = "Disc" if block.start is None else "Decimal"
        inner = element.child("L", attributes=f"/O/List/ListNumbering/{numbering}")
        loose = any(len(item) > 1 for item in block.items) and any(
            not isinstance(item[-1], model.ItemList) for item in block.items if len(item) > 1
        )
        for number, item in enumerate(block.items):
            sign = block.sign(number, outer=outer)
            if number and loose:
                self.space()
            self._item(sign, item, left + step, right, inner.child("LI"), step)
        if outer:
            self.space()

    def _item(
        self, sign: str, blocks: Sequence[Block], left: float, right: float, element: Element, step: float
    ) -> None:
        label = element.child("Lbl")
        body = element.child("LBody")
        at = len(self.rows)
        for block in blocks:
            self._flush = True
            self.block(block, left, right, body)
        while at < len(self.rows) and self.rows[at].blank:
            at += 1
        if at == len(self.rows):
            self.rows.append(Row())
        size = self.geometry.size
        words = self._maker.words((Span(sign),))
        (line,) = self._breaker.lines(words, Shape(step * 2, size, align=Align.START))
        gap = size * 0.45
        before = line.width + gap if line.width + gap <= step else step
        x = self.geometry.measure - left + before - line.width if self._rtl else left - before
        line.x = 0.0
        self.rows[at].marks.insert(0, TextMark(line, x, size, label))

    def _verse(self, verses: Sequence[Spans], left: float, right: float, element: Element) -> None:
        size = self.geometry.size
        inset = self._step(left, right)
        inner = element.child("P")
        for index, spans in enumerate(verses):
            words = self._maker.words(spans)
            shape = Shape(self._measure(left + inset, right), size, align=Align.START)
            lines = self._breaker.lines(words, shape)
            kept = index < len(verses) - 1 and len(verses) <= _KEPT_LINES
            if lines and index < len(verses) - 1:
                lines[-1].tail = Tail.SPACE
            self._put(lines, words, self._x(left + inset, right), inner, size, keep=kept)

    def _code(self, lines: Sequence[str], left: float, right: float, element: Element) -> None:
        size = self.geometry.size
        inner = element.child("Code")
        inset = self._step(left, right)
        for text in lines:
            words = self._maker.words((Span(text.replace(" ", "\u00a0"), code=True),))
            words.rtl = False  # in whatever language the book is
            shape = Shape(self._measure(left + inset, right), size, align=Align.START)
            set_lines = self._breaker.lines(words, shape)
            self._put(set_lines, words, self._x(left + inset, right), inner, size, keep=len(lines) <= _KEPT_LINES)
            if set_lines:
                set_lines[-1].tail = Tail.SPACE
            else:
                self.rows.append(Row(keep=len(lines) <= _KEPT_LINES))
        self.rows[-1].keep = False

    def _table(self, rows: Sequence[Row]) -> None:
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
            self._put(lines, caption, measure * 0.05, element.child("Caption"), geometry.note_size)

    def _scene_break(self, left: float, right: float) -> None:
        if not self.rows:
            return
        self.space(keep=True)
        size = self.geometry.size
        words = self._maker.words((Span(SCENE_BREAK),))
        (line,) = self._breaker.lines(words, Shape(self._measure(left, right), size, align=Align.CENTER))
        self.rows.append(Row(marks=[TextMark(line, self._x(left, right), size)], keep=True))
        self.space(keep=True)
