"""Footnotes, in small type at the foot of the page that refers to them."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.render import model
from bookgen.render.layout.lines import Line, Shape
from bookgen.render.layout.rows import Element, Row
from bookgen.render.layout.setter import Setter
from bookgen.render.model import Block, Section, Span

_LONGEST = 0.4  # of a page; a longer note is set after the chapter
_MAX_AT_A_LINE = 0.6  # of a page; if one line calls for more, its longest notes are set after the chapter too


class FootNotes:
    """One chapter's footnotes as lines, with their heights.

    Notes that are too long for the foot of a page are in `behind` and are printed after the chapter.
    """

    def __init__(self, setter: Setter, section: Section, element: Element, rows: Sequence[Row]) -> None:
        geometry = setter.geometry
        self.lead = geometry.note_lead
        self.gap = geometry.note_lead * 1.2
        self.lines: dict[int, list[Line]] = {}
        self.elements: dict[int, Element] = {}
        self.behind: list[int] = []
        self._calls: dict[int, set[int]] = {}
        self._followers: dict[int, list[int]] = {}
        page = geometry.lines * geometry.lead
        for number, blocks in enumerate(section.notes):
            spans = (Span("", note=number), Span("\u2005"), *note_spans(blocks))
            shape = Shape(geometry.measure, geometry.note_size, align=setter.body_align)
            words = setter.maker.words(spans)
            self._calls[number] = {note for called in words.notes.values() for note in called} - {number}
            self.lines[number] = setter.breaker.lines(words, shape)
            if self._height(number) > page * _LONGEST:
                self._move_behind(number)
            else:
                self.elements[number] = element.child("Note")
        for row in rows:
            here = sorted({note for note in row.notes if note in self.lines}, key=self._height)
            while here and sum(map(self._height, here)) > page * _MAX_AT_A_LINE:
                self._move_behind(here.pop())
        self.behind.sort()

    def adopt(self, rows: Sequence[Row]) -> None:
        """Put notes that only another note refers to below that note."""
        seen = {note for row in rows for note in row.notes}
        waiting = sorted(seen.intersection(self.lines))
        while waiting:
            caller = waiting.pop(0)
            found = sorted((self._calls[caller] & self.lines.keys()) - seen)
            self._followers[caller] = found
            seen.update(found)
            waiting += found

    def at_foot(self, rows: Sequence[Row]) -> list[int]:
        """The numbers of the notes at the foot of a page with these rows, in order, without duplicates."""
        called = dict.fromkeys(note for row in rows for note in row.notes if note in self.lines)
        return [note for caller in called for note in self._family(caller)]

    def heights(self) -> dict[int, float]:
        heights = {number: sum(map(self._height, self._family(number))) for number in self.lines}
        return heights | dict.fromkeys(self.behind, 0.0)

    def _family(self, number: int) -> list[int]:
        """The number of a note, followed by the numbers of all notes that are printed directly below it."""
        return [number, *(each for found in self._followers.get(number, ()) for each in self._family(found))]

    def _height(self, number: int) -> float:
        return len(self.lines[number]) * self.lead

    def _move_behind(self, number: int) -> None:
        del self.lines[number]
        self.elements.pop(number, None)
        self.behind.append(number)


def note_spans(blocks: tuple[Block, ...]) -> tuple[Span, ...]:
    """A note's text as one paragraph, whatever blocks it consists of."""
    spans: list[Span] = []
    for block in blocks:
        if spans:
            spans.append(Span(" "))
        match block:
            case model.Paragraph(inner) | model.Heading(_, inner):
                spans += inner
            case model.Quote(inner_blocks):
                spans += note_spans(inner_blocks)
            case model.ItemList(items):
                for item in items:
                    spans += (*note_spans(item), Span(" "))
            case model.Verse(lines):
                for line in lines:
                    spans += (*line, Span(" "))
            case model.Code(texts):
                spans.append(Span(" ".join(texts), code=True))
            case model.Table(_, head, rows):
                for cell in (cell for row in (head, *rows) for cell in row):
                    spans += (*cell, Span(" "))
    return tuple(span for span in spans if span.text or span.note is not None)
