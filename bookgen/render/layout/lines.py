"""Breaks paragraphs into lines with positioned text, independent of any file format."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import Enum

from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.style import Style
from bookgen.render.fonts.typeface import Pieces
from bookgen.render.layout import line_breaking
from bookgen.render.layout.bidi import Item, spaces, visual
from bookgen.render.layout.line_breaking import (
    Breakpoint,
    Measures,
    first_fit,
    fit,
    fit_shaped,
    in_last_word,
    third_hyphen,
)
from bookgen.render.layout.word_metrics import SPACE_WIDTH, Token
from bookgen.render.layout.words import Words, divided

_SQUEEZED = 96.0  # percent; a line with narrower letters has a word that is too long for it
_LADDERS = 4  # how often a paragraph is broken again to avoid three hyphens in a row


class Align(Enum):
    JUSTIFY = "justify"
    START = "start"
    CENTER = "center"
    END = "end"


class Tail(Enum):
    """How a line ends: with the paragraph, a space, an added hyphen, or (`BARE`) none of these."""

    END = "end"
    SPACE = "space"
    HYPHEN = "hyphen"
    BARE = "bare"


@dataclass(slots=True)
class Line:
    """A line of text.

    `x` is in points from the block's left, `expansion` in percent. `opening`: how much justification widens each word
    space, per mille of the type size. `word` is the index of the first word that starts here. `segments` are in visual
    order from left to right. `read` has them in reading order; None if the two orders are the same.
    """

    x: float
    width: float
    expansion: float
    opening: float
    segments: list[tuple[Style, list[Item]]]
    tail: Tail
    word: int
    words: range
    read: list[tuple[Style, list[Item]]] | None = None
    rtl: bool = False

    @property
    def text(self) -> str:
        return "".join(item if isinstance(item, str) else spaces(item) for _, items in self.segments for item in items)


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a paragraph: line width, type size and indents in points, and the alignment."""

    measure: float
    size: float
    indent: float = 0.0
    align: Align = Align.JUSTIFY
    notch: float = 0.0  # the first `notch_lines` lines are this much shorter, for a drop cap
    notch_lines: int = 0
    hyphenated: bool = True  # whether lines are, if they are not justified


class LineBreaker:
    """Breaks paragraphs into lines. `micro`: letters may be widened slightly. `measuring`: lines need no text."""

    def __init__(self, hyphens: Hyphens, *, micro: bool = True, measuring: bool = False) -> None:
        self._hyphens = hyphens
        self._micro = micro
        self._measuring = measuring

    def lines(self, words: Words, shape: Shape) -> list[Line]:
        if not words.tokens:
            return []
        lines = list(self._emit(words, self._ends(words, shape), shape))
        if any(line.expansion < _SQUEEZED for line in lines):
            words = divided(words, shape.measure * 1000 / shape.size, self._hyphens)
            lines = list(self._emit(words, self._ends(words, shape), shape))
        return lines

    def loosened(self, words: Words, shape: Shape, wanted: int) -> list[Line] | None:
        """The paragraph in exactly `wanted` lines. None if that would look bad."""
        ends = fit_shaped(
            words, _measures(shape), line_breaking.SECOND_TOLERANCE, self._hyphens, wanted=wanted, micro=self._micro
        )
        if ends is None or third_hyphen(ends) is not None or _meets(ends, in_last_word(words, self._hyphens)):
            return None
        return list(self._emit(words, ends, shape))

    def _ends(self, words: Words, shape: Shape) -> list[Breakpoint]:
        measures = _measures(shape)
        if shape.align is not Align.JUSTIFY:
            divided = shape.align is Align.START and shape.hyphenated and len(words.tokens) > 12
            full = first_fit(words, measures, self._hyphens if divided else None)
            return _balanced(words, measures, full) if shape.align is Align.CENTER else full
        if shape.notch_lines:
            return self._ends_around(words, measures)
        ends = fit(words, measures, line_breaking.FIRST_TOLERANCE, None, micro=self._micro)
        if ends is not None:
            return ends
        last = in_last_word(words, self._hyphens)
        for tolerance in (line_breaking.SECOND_TOLERANCE, line_breaking.ANYTHING):
            forbidden = set(last)
            ends = fit(words, measures, tolerance, self._hyphens, micro=self._micro, forbidden=forbidden)
            for _ in range(_LADDERS):
                if ends is None or (stacked := third_hyphen(ends)) is None:
                    break
                forbidden.add(stacked)
                ends = fit(
                    words, measures, line_breaking.ANYTHING, self._hyphens, micro=self._micro, forbidden=forbidden
                )
            if ends is not None and (tolerance == line_breaking.ANYTHING or not _meets(ends, last)):
                return ends
        return first_fit(words, measures, self._hyphens)

    def _ends_around(self, words: Words, measures: Measures) -> list[Breakpoint]:
        last = in_last_word(words, self._hyphens)
        for tolerance in (line_breaking.FIRST_TOLERANCE, line_breaking.SECOND_TOLERANCE, line_breaking.ANYTHING):
            ends = fit_shaped(words, measures, tolerance, self._hyphens, micro=self._micro, forbidden=last)
            if ends is not None and (tolerance == line_breaking.ANYTHING or not _meets(ends, last)):
                return ends
        return first_fit(words, measures, self._hyphens)

    def _emit(self, words: Words, ends: list[Breakpoint], shape: Shape) -> Iterator[Line]:
        per_mille = 1000.0 / shape.size
        measures = _measures(shape)
        justified = shape.align is Align.JUSTIFY
        tokens = words.tokens
        start = start_gaps = 0.0
        word = offset = 0
        for number, end in enumerate(ends):
            natural = end.width - start
            gaps = end.gaps - start_gaps
            room = measures(number)
            missing = room - natural
            is_last = end is ends[-1]
            end_word, at = end.word, end.at
            expansion, opening = 100.0, 0.0
            if missing < 0 and not justified:
                expansion = max(60.0, 100.0 * room / natural)  # a word that cannot be broken is condensed
            elif justified and not (is_last and missing >= 0):
                spaces = gaps if words.plain else sum(token.gap[0] for token in tokens[word:end_word])
                expansion, opening = _justified(missing, room, natural - SPACE_WIDTH * spaces, gaps, self._micro)
            if is_last:
                tail = Tail.END
            elif at > 0:
                tail = Tail.HYPHEN
            else:
                tail = Tail.SPACE if not at and tokens[end_word].gap[0] > 0 else Tail.BARE
            segments = [] if self._measuring else _segments(tokens, word, offset, end_word, at)
            read = segments if words.mixed or words.rtl else None
            if read is not None:
                segments = visual(read, words.rtl)
            yield Line(
                x=_offset(shape, number, missing / per_mille, words.rtl, words.rtl and opening == 0.0),
                width=(natural if opening == 0.0 else room) / per_mille,
                expansion=expansion,
                opening=opening,
                segments=segments,
                tail=tail,
                word=word + (1 if offset else 0),
                words=range(word, end_word + 1),
                read=read,
                rtl=words.rtl,
            )
            word, offset = (end_word, abs(at)) if at else (end_word + 1, 0)
            start, start_gaps = end.next_width, end.next_gaps


def _meets(ends: list[Breakpoint], forbidden: Container[tuple[int, int]]) -> bool:
    return any((end.word, end.at) in forbidden for end in ends)


def _balanced(words: Words, measures: Measures, ends: list[Breakpoint]) -> list[Breakpoint]:
    """Break a title into as many lines as `ends` has, but of similar length.

    The title's last word is then not alone on its line.
    """
    least, most = measures.full / (len(ends) + 1), measures.full
    while len(ends) > 1 and most - least > 100.0:
        middle = (least + most) / 2
        narrower = first_fit(words, Measures(middle), None)
        fits = len(narrower) == len(ends) and max(_lengths(narrower)) <= middle
        ends, most, least = (narrower, middle, least) if fits else (ends, most, middle)
    return ends


def _lengths(ends: list[Breakpoint]) -> Iterator[float]:
    start = 0.0
    for end in ends:
        yield end.width - start
        start = end.next_width


def _measures(shape: Shape) -> Measures:
    """The line widths of a shape, per mille of the type size."""
    per_mille = 1000.0 / shape.size
    return Measures(shape.measure * per_mille, shape.indent * per_mille, shape.notch * per_mille, shape.notch_lines)


def _justified(missing: float, measure: float, letters: float, gaps: float, micro: bool) -> tuple[float, float]:
    """How to justify a line that is `missing` shorter than `measure`: by wider letters, then by wider gaps.

    Returns the width of the letters in percent, and the width to add to each word space. The letters take most of the
    difference, up to their limit. `letters`: the line's width without spaces. `gaps`: how many word spaces can stretch.
    """
    expansion = 100.0
    if micro:
        share = max(-line_breaking.EXPANSION, min(line_breaking.EXPANSION, missing / measure * 0.8))
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


def _segments(tokens: list[Token], first: int, offset: int, last: int, at: int) -> list[tuple[Style, list[Item]]]:
    """The text of a line from word `first` to word `last`, grouped by style. A gap has the style of the text before it.

    `offset`: how many letters of the first word are on the line before. `at`: where the last word is divided; 0 if it
    is whole.
    """
    line = tokens[first : last + 1]
    style = line[0].style
    if style and not at and not offset and [token.style for token in line].count(style) == len(line):
        even: list[Item] = [""] * (2 * len(line) - 1)
        even[::2] = [token.text for token in line]
        even[1::2] = [token.gap for token in line[:-1]]
        return [(style, even)]
    segments: list[tuple[Style, list[Item]]] = []
    style = None
    items: list[Item] = []
    for index, token in enumerate(line, first):
        pieces = token.pieces
        if (index == last and at) or (index == first and offset):
            pieces = _cut(pieces, offset if index == first else 0, abs(at) if index == last and at else None)
        for text, wanted in pieces:
            if wanted is not style:
                items = []
                style = wanted
                segments.append((wanted, items))
            items.append(text)
        if index < last:
            items.append(token.gap)
    return segments


def _cut(pieces: Pieces, start: int, end: int | None) -> Pieces:
    """The letters `start` to `end` of a divided word. Only words with one style are divided."""
    text, style = pieces[0]
    return ((text[start:end], style), *pieces[1:])
