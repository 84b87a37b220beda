"""Total-fit line breaking (Knuth and Plass), with hanging punctuation and slight glyph expansion.

All widths are per mille of the type size.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bookgen.render.layout.tokens import HYPHEN_PENALTY, Hyphenate, Token
from bookgen.render.layout.words import Words

STRETCH, SHRINK = 125.0, 55.0
EXPANSION = 0.02  # letters may grow or shrink by 2 %
FORBIDDEN = 5000.0  # the penalty of a third hyphen in a row
FIRST_TOLERANCE, SECOND_TOLERANCE, ANYTHING = 1.3, 2.2, 1e9
_LADDER = (1.0, 4.0, 2000.0)  # a second hyphen in a row costs more, a third almost everything
_SHORT_LAST_LINE = 0.86
_INFINITE = 1e18


class Breakpoint(NamedTuple):
    """A place where a line may end. `at` is 0 after the word, > 0 inside it with a hyphen, < 0 inside without one.

    `width` and `gaps` are the text's width and gaps from the paragraph's start to a line that ends here. `next_width`
    and `next_gaps` are those to the start of the next line.
    """

    word: int
    at: int
    width: float
    gaps: float
    next_width: float
    next_gaps: float
    penalty: float


@dataclass(frozen=True, slots=True)
class Measures:
    """The width of each line, counted from 0. The first may be indented; the first few may be next to a drop cap."""

    full: float
    indent: float = 0.0
    notch: float = 0.0
    notch_lines: int = 0

    def __call__(self, line: int) -> float:
        room = self.full if line else self.full - self.indent
        return room - self.notch if line < self.notch_lines else room


def places(words: Words, hyphenate: Hyphenate | None) -> Iterator[Breakpoint]:
    """Every place where a line may end. Without `hyphenate`, words are not divided."""
    width = gaps = 0.0
    for word, token in enumerate(words.tokens):
        yield from _within(word, token, width, gaps, hyphenate)
        width += token.advance
        gaps += token.gap[1]


def _within(word: int, token: Token, width: float, gaps: float, hyphenate: Hyphenate | None) -> Iterator[Breakpoint]:
    for at, start, end, penalty in token.whole if hyphenate is None else token.divided(hyphenate):
        yield Breakpoint(word, at, width + end, gaps, width + start, gaps if at else gaps + token.gap[1], penalty)


def fit(
    words: Words,
    measures: Measures,
    tolerance: float,
    hyphenate: Hyphenate | None,
    *,
    micro: bool = True,
    forbidden: Container[tuple[int, int]] = (),
) -> list[Breakpoint] | None:
    """The best line ends for lines of one width. None if no solution is within the tolerance.

    This runs for every paragraph, often twice, so it is optimised. A node is a place where a good line ends. Most words
    are skipped quickly, because no open line is long enough to end at them.
    """
    measure = measures.full
    expansion = EXPANSION * measure if micro else 0.0
    last = len(words.tokens) - 1
    ends: list[tuple[int, int, float, float, float]] = [(-1, 0, 0.0, 0.0, 0.0)]
    starts, start_gaps = [-measures.indent], [0.0]
    total, previous, ladder = [0.0], [-1], [0]  # `ladder`: how many lines in a row end with a hyphen
    active = [0]  # open nodes, in order: a later start makes a shorter line
    width = gaps = 0.0
    for word, token in enumerate(words.tokens):
        after = gaps + token.gap[1]
        first = active[0]
        room = (gaps - start_gaps[first]) * STRETCH + expansion
        if word < last and measure - (width + token.end - starts[first]) > room * tolerance:
            width += token.advance
            gaps = after
            continue
        for at, start_width, end_width, cost in token.whole if hyphenate is None else token.divided(hyphenate):
            end = width + end_width
            best, chosen, overfull = _INFINITE, -1, 0
            is_last = word == last and not at
            if forbidden and (word, at) in forbidden:
                cost = FORBIDDEN
            for node in active:
                missing = measure - (end - starts[node])
                if missing < 0.0:
                    room = (gaps - start_gaps[node]) * SHRINK + expansion
                    if -missing > room:
                        overfull += 1
                        continue
                    ratio = -missing / room
                    demerits = 10.0 + 100.0 * ratio * ratio * ratio
                elif is_last:
                    demerits = 10.0 if missing < measure * _SHORT_LAST_LINE else 130.0
                else:
                    room = (gaps - start_gaps[node]) * STRETCH + expansion
                    if room <= 0.0:
                        if tolerance < ANYTHING:
                            break
                        room = 1.0
                    ratio = missing / room
                    if ratio > tolerance:
                        break
                    demerits = 10.0 + 100.0 * ratio * ratio * ratio
                demerits *= demerits
                if cost:
                    demerits += cost * cost * (_LADDER[ladder[node]] if cost == HYPHEN_PENALTY else 1.0)
                demerits += total[node]
                if demerits < best:
                    best, chosen = demerits, node
            if overfull:
                del active[:overfull]
            if chosen >= 0:
                active.append(len(total))
                ends.append((word, at, end, gaps, cost))
                starts.append(width + start_width)
                start_gaps.append(gaps if at else after)
                total.append(best)
                previous.append(chosen)
                ladder.append(min(2, ladder[chosen] + 1) if cost == HYPHEN_PENALTY else 0)
            if not active:
                return None
        width += token.advance
        gaps = after
    if ends[-1][:2] != (last, 0):
        return None
    found: list[Breakpoint] = []
    node = len(total) - 1
    while node:
        word, at, end, end_gaps, cost = ends[node]
        found.append(Breakpoint(word, at, end, end_gaps, starts[node], start_gaps[node], cost))
        node = previous[node]
    found.reverse()
    return found


def third_hyphen(ends: Sequence[Breakpoint]) -> tuple[int, int] | None:
    """The first hyphen that is the third in a row."""
    row = 0
    for end in ends:
        row = row + 1 if end.at > 0 else 0
        if row == 3:
            return end.word, end.at
    return None


def first_fit(words: Words, measures: Measures, hyphenate: Hyphenate | None) -> list[Breakpoint]:
    """Line ends found greedily: each line is filled as far as possible. Never fails."""
    ends: list[Breakpoint] = []
    start = 0.0
    waiting: list[Breakpoint] = []  # the furthest end that the line has room for
    for place in places(words, hyphenate):
        if waiting and place.width - start > measures(len(ends)):
            ends += waiting
            start = waiting[0].next_width
        waiting = [place]
    return ends + waiting


class _LineEnd(NamedTuple):
    """A node of a shaped paragraph: where a line ends, the number of lines so far, their cost, and hyphens in a row."""

    place: Breakpoint
    lines: int
    total: float
    ladder: int
    before: _LineEnd | None


def fit_shaped(
    words: Words,
    measures: Measures,
    tolerance: float,
    hyphenate: Hyphenate | None,
    *,
    wanted: int | None = None,
    micro: bool = True,
) -> list[Breakpoint] | None:
    """Like `fit`, if lines differ in width or the paragraph must have exactly `wanted` lines."""
    last = len(words.tokens) - 1
    active = [_LineEnd(Breakpoint(-1, 0, 0.0, 0.0, 0.0, 0.0, 0.0), 0, 0.0, 0, None)]
    new: list[_LineEnd] = []
    width = gaps = 0.0
    for word, token in enumerate(words.tokens):
        if word == last or measures.notch_lines or _reached(active[0], measures, width + token.end, gaps, tolerance):
            for place in _within(word, token, width, gaps, hyphenate):
                is_last = word == last and not place.at
                active, new = _lines_to(place, active, measures, tolerance, is_last=is_last, micro=micro)
                active += new
                if not active:
                    return None
        width += token.advance
        gaps += token.gap[1]
    finished = [node for node in new if wanted in (None, node.lines)]
    return _path(min(finished, key=lambda node: node.total)) if finished else None


def _reached(node: _LineEnd, measures: Measures, end: float, gaps: float, tolerance: float) -> bool:
    """Whether a line that begins at the node and ends here is long enough to be stretched to the full width."""
    measure = measures(node.lines)
    room = (gaps - node.place.next_gaps) * STRETCH + EXPANSION * measure
    return measure - (end - node.place.next_width) <= room * tolerance


def _lines_to(
    place: Breakpoint, active: list[_LineEnd], measures: Measures, tolerance: float, *, is_last: bool, micro: bool
) -> tuple[list[_LineEnd], list[_LineEnd]]:
    """The nodes where lines may still begin, and the best line ending here for each number of lines."""
    alive: list[_LineEnd] = []
    best: dict[int, tuple[float, _LineEnd]] = {}
    for index, node in enumerate(active):
        measure = measures(node.lines)
        missing = measure - (place.width - node.place.next_width)
        gaps = place.gaps - node.place.next_gaps
        expansion = EXPANSION * measure if micro else 0.0
        if missing < 0.0:
            room = gaps * SHRINK + expansion
            if -missing > room:
                continue
            demerits = 10.0 + 100.0 * (-missing / room) ** 3
        elif is_last:
            demerits = 10.0 if missing < measure * _SHORT_LAST_LINE else 130.0
        else:
            room = gaps * STRETCH + expansion
            if missing > room * tolerance:
                if not measures.notch_lines:  # a line that starts later is as wide and less full
                    alive += active[index:]
                    break
                alive.append(node)
                continue
            demerits = 10.0 + 100.0 * (missing / room) ** 3
        alive.append(node)
        weight = _LADDER[node.ladder] if place.penalty == HYPHEN_PENALTY else 1.0
        demerits = node.total + demerits * demerits + place.penalty * place.penalty * weight
        if node.lines not in best or demerits < best[node.lines][0]:
            best[node.lines] = (demerits, node)
    return alive, [
        _LineEnd(place, lines + 1, total, min(2, node.ladder + 1) if place.at > 0 else 0, node)
        for lines, (total, node) in sorted(best.items())
    ]


def _path(node: _LineEnd | None) -> list[Breakpoint]:
    ends: list[Breakpoint] = []
    while node and node.before:
        ends.append(node.place)
        node = node.before
    ends.reverse()
    return ends
