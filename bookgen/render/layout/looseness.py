"""Sets paragraphs one line longer or shorter, so that pages can be filled evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.render.layout.lines import Align, Line, LineBreaker, Shape
from bookgen.render.layout.rows import Element, Row, text_rows
from bookgen.render.layout.words import Words

# How much of its width a line can gain or lose without looking stretched or squeezed. Only such changes are tried.
_CAN_STRETCH, _CAN_SHRINK = 0.075, 0.035
_MIN_LAST_LINE = 0.1


@dataclass(frozen=True, slots=True)
class SetParagraph:
    """A typeset paragraph, with everything needed to typeset it again with another number of lines."""

    words: Words
    shape: Shape
    left: float
    element: Element
    block: int
    lines: Sequence[Line]

    def rows(self, number: int, lines: Sequence[Line]) -> list[Row]:
        size, block = self.shape.size, self.block
        return text_rows(lines, self.words, self.left, size, self.element, block=block, paragraph=number)


class Looseness:
    """Variants of one chapter's paragraphs that are a line longer or shorter. Each variant is tried at most once."""

    def __init__(self, breaker: LineBreaker) -> None:
        self._breaker = breaker
        self._paragraphs: list[SetParagraph] = []
        self._tried: dict[tuple[int, int], list[Row] | None] = {}

    def add(self, paragraph: SetParagraph) -> list[Row]:
        self._paragraphs.append(paragraph)
        return paragraph.rows(len(self._paragraphs) - 1, paragraph.lines)

    def variant(self, number: int, change: int) -> list[Row] | None:
        """The rows of paragraph `number`, a line longer (`change` 1) or shorter (-1). None if that would look bad."""
        key = (number, change)
        if key not in self._tried:
            self._tried[key] = self._try(number, change)
        return self._tried[key]

    def _try(self, number: int, change: int) -> list[Row] | None:
        paragraph = self._paragraphs[number]
        shape = paragraph.shape
        if shape.align is not Align.JUSTIFY or shape.notch_lines:
            return None
        count = len(paragraph.lines)
        fill = paragraph.lines[-1].width / shape.measure
        if change > 0 and fill < 1 + _MIN_LAST_LINE - _CAN_STRETCH * count:
            return None
        if change < 0 and (count < 3 or fill > _CAN_SHRINK * (count - 1)):
            return None
        lines = self._breaker.loosened(paragraph.words, shape, count + change)
        return None if lines is None else paragraph.rows(number, lines)
