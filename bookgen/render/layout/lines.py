"""Broken paragraphs as lines: what stands where, still free of any file format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.style import Style
from bookgen.render.fonts.typeface import Pieces
from bookgen.render.layout.bidi import Item, visual
from bookgen.render.layout.breaking import (
    ANYTHING,
    EXPANSION,
    FIRST_TOLERANCE,
    FORBIDDEN,
    SECOND_TOLERANCE,
    SPACE_WIDTH,
    Breakpoints,
    breakpoints,
    first_fit,
    fit,
    fit_shaped,
    ladder,
)
from bookgen.render.layout.words import Words

_LADDERS = 4  # stacks of hyphens that are taken apart in one paragraph


class Align(Enum):
    JUSTIFY = "justify"
    START = "start"
    CENTER = "center"
    END = "end"


class Tail(Enum):
    """What a line ends with: the paragraph's end, a space, a hyphen that is not part of the text, or a bare break."""

    END = "end"
    SPACE = "space"
    HYPHEN = "hyphen"
    BARE = "bare"


@dataclass(slots=True)
class Line:
    """`x` in points from the block's left; `expansion` in percent; `gap` the line's word space per mille,
    `opening` what each gap's stretch adds. `word` is the index of the first word that starts here."""

    x: float
    width: float
    expansion: float
    gap: float
    opening: float
    segments: list[tuple[Style, list[Item]]]
    tail: Tail
    word: int
    words: range

    @property
    def text(self) -> str:
        return "".join(
            item if isinstance(item, str) else " " * (item[0] > 0) for _, items in self.segments for item in items
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """How a paragraph is to be set: measure and indents in points."""

    measure: float
    size: float
    indent: float = 0.0
    align: Align = Align.JUSTIFY
    notch: float = 0.0  # the first `notch_lines` lines are this much shorter, for an initial
    notch_lines: int = 0


class LineBreaker:
    """Breaks the paragraphs of one book."""

    def __init__(self, hyphens: Hyphens, *, micro: bool = True) -> None:
        self._hyphens = hyphens
        self._micro = micro

    def lines(self, words: Words, shape: Shape) -> list[Line]:
        if not words.tokens:
            return []
        points, ends = self._break(words, shape)
        return list(_emit(words, points, ends, shape, self._micro))

    def loosened(self, words: Words, shape: Shape, wanted: int) -> list[Line] | None:
        """The paragraph in exactly `wanted` lines, if that can be done decently."""
        points = breakpoints(words, self._hyphens)
        ends = fit_shaped(points, _measures(shape), SECOND_TOLERANCE, wanted=wanted, micro=self._micro)
        if ends is None or ladder(points, ends) is not None:
            return None
        return list(_emit(words, points, ends, shape, self._micro))

    def _break(self, words: Words, shape: Shape) -> tuple[Breakpoints, list[int]]:
        per_mille = 1000.0 / shape.size
        measure, indent = shape.measure * per_mille, shape.indent * per_mille
        whole = breakpoints(words, None)
        if shape.align is not Align.JUSTIFY:
            ragged = (
                breakpoints(words, self._hyphens) if shape.align is Align.START and len(words.tokens) > 12 else whole
            )
            return ragged, first_fit(ragged, _measures(shape))
        if shape.notch_lines:
            return self._break_around(words, shape)
        ends = fit(whole, measure, indent, FIRST_TOLERANCE, micro=self._micro)
        if ends is not None:
            return whole, ends
        divided = breakpoints(words, self._hyphens)
        for tolerance in (SECOND_TOLERANCE, ANYTHING):
            ends = fit(divided, measure, indent, tolerance, micro=self._micro)
            for _ in range(_LADDERS):
                if ends is None or (stacked := ladder(divided, ends)) is None:
                    break
                divided.penalty[stacked] = FORBIDDEN
                ends = fit(divided, measure, indent, ANYTHING, micro=self._micro)
            if ends is not None:
                return divided, ends
        return divided, first_fit(divided, _measures(shape))

    def _break_around(self, words: Words, shape: Shape) -> tuple[Breakpoints, list[int]]:
        points = breakpoints(words, self._hyphens)
        measures = _measures(shape)
        for tolerance in (FIRST_TOLERANCE, SECOND_TOLERANCE, ANYTHING):
            ends = fit_shaped(points, measures, tolerance, micro=self._micro)
            if ends is not None:
                return points, ends
        return points, first_fit(points, measures)


class _measures:
    """The room of each line per mille."""

    def __init__(self, shape: Shape) -> None:
        per_mille = 1000.0 / shape.size
        self._full = shape.measure * per_mille
        self._first = (shape.measure - shape.indent) * per_mille
        self._notch = shape.notch * per_mille
        self._notch_lines = shape.notch_lines

    def __call__(self, line: int) -> float:
        room = self._full if line else self._first
        return room - self._notch if line < self._notch_lines else room


def _emit(words: Words, points: Breakpoints, ends: list[int], shape: Shape, micro: bool) -> Iterator[Line]:
    per_mille = 1000.0 / shape.size
    room = _measures(shape)
    start_point, word, offset = 0, 0, 0
    count = len(points.end_width)
    for number, end in enumerate(ends):
        start = points.start_width[start_point - 1] if start_point else 0.0
        start_gaps = points.start_gaps[start_point - 1] if start_point else 0.0
        natural = points.end_width[end - 1] - start
        gaps = points.end_gaps[end - 1] - start_gaps
        missing = room(number) - natural
        is_last = end == count
        expansion, opening = 100.0, 0.0
        if missing < 0 and shape.align is not Align.JUSTIFY:
            expansion = max(60.0, 100.0 * room(number) / natural)  # one thing that cannot break: condense it
        elif shape.align is Align.JUSTIFY and not (is_last and missing >= 0):
            spaces = SPACE_WIDTH * sum(words.gaps[index][0] for index in range(word, points.place[end - 1][0]))
            expansion, opening = _justified(missing, room(number), natural - spaces, gaps, micro)
        end_word, at = points.place[end - 1]
        segments = _segments(words, word, offset, end_word, at)
        tail = (
            Tail.END
            if is_last
            else Tail.HYPHEN
            if at > 0
            else Tail.SPACE
            if not at and words.gaps[end_word][0]
            else Tail.BARE
        )
        if words.mixed or words.rtl:
            segments = visual(segments, words.rtl)
        yield Line(
            x=_offset(shape, number, missing / per_mille, words.rtl, words.rtl and opening == 0.0),
            width=(natural if opening == 0.0 else room(number)) / per_mille,
            expansion=expansion,
            gap=SPACE_WIDTH,
            opening=opening,
            segments=segments,
            tail=tail,
            word=word + (1 if offset else 0),
            words=range(word, end_word + 1),
        )
        word, offset = (end_word, abs(at)) if at else (end_word + 1, 0)
        start_point = end


def _justified(missing: float, measure: float, letters: float, gaps: float, micro: bool) -> tuple[float, float]:
    """Letters take most of the error up to their limit, the gaps the rest."""
    expansion = 100.0
    if micro:
        share = max(-EXPANSION, min(EXPANSION, missing / measure * 0.8))
        expansion += 100.0 * share
        missing -= share * letters
    if gaps <= 0.0:
        return expansion if missing >= 0 else max(60.0, expansion + 100.0 * missing / measure), 0.0
    return expansion, missing / gaps


def _offset(shape: Shape, number: int, missing: float, rtl: bool, ragged_left: bool) -> float:
    notch = shape.notch if number < shape.notch_lines else 0.0
    indent = shape.indent if number == 0 else 0.0
    if shape.align is Align.CENTER:
        return max(0.0, missing / 2)
    if shape.align is Align.END or ragged_left:
        return max(0.0, missing)
    return 0.0 if rtl else indent + notch


def _segments(words: Words, first: int, offset: int, last: int, at: int) -> list[tuple[Style, list[Item]]]:
    """The line's text by style; gaps belong to the style before them."""
    segments: list[tuple[Style, list[Item]]] = []
    style: Style | None = None
    items: list[Item] = []
    for index in range(first, last + 1):
        pieces = words.tokens[index].pieces
        if (index == last and at) or (index == first and offset):
            pieces = _cut(pieces, offset if index == first else 0, abs(at) if index == last and at else None)
        for text, wanted in pieces:
            if wanted is not style:
                items = []
                style = wanted
                segments.append((wanted, items))
            items.append(text)
        if index < last:
            items.append(words.gaps[index])
    return segments


def _cut(pieces: Pieces, start: int, end: int | None) -> Pieces:
    """Only words of one piece are divided."""
    text, style = pieces[0]
    return ((text[start:end], style), *pieces[1:])
