"""Total-fit line breaking (Knuth and Plass), with hanging punctuation and slight glyph expansion.

All widths are per mille of the type size.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bookgen.render.layout.word_metrics import HYPHEN_PENALTY, Break, Hyphenate, Token
from bookgen.render.layout.words import Words

STRETCH, SHRINK = 125.0, 55.0
EXPANSION = 0.02  # letters may grow or shrink by 2 %
FORBIDDEN = 5000.0  # the penalty of a third hyphen in a row
FIRST_TOLERANCE, SECOND_TOLERANCE, ANYTHING = 1.3, 2.2, 1e9
_LADDER = (1.0, 4.0, 2000.0)  # a second hyphen in a row costs more, a third almost everything
_SHORT_LAST_LINE = 0.86
_INFINITE = 1e18
_End = tuple[int, int, float, float, float]  # the word, the place in it, and the width, gaps and penalty up to it


class Breakpoint(NamedTuple):
    """A place where a line may end, in or after the word with index `word`.

    `at` is 0 after the word. Inside the word, it is the number of letters before the place, negative if no hyphen is
    added. `width` is the text's width from the paragraph's start to a line that ends here, and `gaps` how far its
    spaces can stretch, in multiples of a word space. `next_width` and `next_gaps` are the same up to the start of the
    next line.
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


class _Search:
    """The search for the best line ends of a paragraph, kept in parallel lists with one row for each line end.

    Row 0 is the paragraph's start. Each other row is a place where a line ends, with the best line that ends there.
    `widths` and `gaps` are the text's width and gaps up to the start of the next line. `totals` are the demerits so
    far, `previous` the row where the line starts, and `hyphens` how many consecutive lines end with a hyphen.
    """

    __slots__ = (
        "active", "ends", "expansion", "forbidden", "gaps", "hyphens", "measure", "previous", "restricted", "tolerance",
        "totals", "widths",
    )  # fmt: skip

    def __init__(
        self,
        measures: Measures,
        tolerance: float,
        expansion: float,
        forbidden: Collection[tuple[int, int]],
    ) -> None:
        self.measure, self.tolerance = measures.full, tolerance
        self.expansion, self.forbidden = expansion, forbidden
        self.restricted = {word for word, _ in forbidden}  # few words, so that most need no look at `forbidden`
        self.ends: list[_End] = [(-1, 0, 0.0, 0.0, 0.0)]
        self.widths, self.gaps = [-measures.indent], [0.0]
        self.totals, self.previous, self.hyphens = [0.0], [-1], [0]
        self.active = [0]  # the rows where a line may still start, in order: a later start makes a shorter line

    def end_within(
        self, word: int, places: Iterable[Break], width: float, gaps: float, next_gaps: float, *, last: bool
    ) -> None:
        """Add the best line that ends at each of the `places` in the word number `word`.

        `width` and `gaps` are those of the text before the word; `next_gaps` includes the gap after it. `last`: this is
        the paragraph's last word. Each row in `active` is tried as the line's start, the longest line first. If that
        line is too long, the row is dropped: it is too early for all later words too. If the line is too short, the
        remaining rows are skipped, since their lines are shorter still.
        """
        measure, expansion, tolerance, active = self.measure, self.expansion, self.tolerance, self.active
        widths, start_gaps, totals, hyphens = self.widths, self.gaps, self.totals, self.hyphens
        forbidden = self.forbidden if word in self.restricted else ()
        for at, start_width, end_width, cost in places:
            end = width + end_width
            best, chosen, overfull = _INFINITE, -1, 0
            is_last = last and not at
            if forbidden and (word, at) in forbidden:
                cost = FORBIDDEN
            for row in active:
                missing = measure - (end - widths[row])
                if missing < 0.0:
                    room = (gaps - start_gaps[row]) * SHRINK + expansion
                    if -missing > room:
                        overfull += 1
                        continue
                    ratio = -missing / room
                    demerits = 10.0 + 100.0 * ratio * ratio * ratio
                elif is_last:
                    demerits = 10.0 if missing < measure * _SHORT_LAST_LINE else 130.0
                else:
                    room = (gaps - start_gaps[row]) * STRETCH + expansion
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
                    demerits += cost * cost * (_LADDER[hyphens[row]] if cost == HYPHEN_PENALTY else 1.0)
                demerits += totals[row]
                if demerits < best:
                    best, chosen = demerits, row
            if overfull:
                del active[:overfull]
            if chosen >= 0:
                self._add((word, at, end, gaps, cost), width + start_width, gaps if at else next_gaps, best, chosen)
            if not active:
                return

    def _add(self, end: _End, width: float, gaps: float, total: float, row: int) -> None:
        self.active.append(len(self.ends))
        self.ends.append(end)
        self.widths.append(width)
        self.gaps.append(gaps)
        self.totals.append(total)
        self.previous.append(row)
        self.hyphens.append(min(2, self.hyphens[row] + 1) if end[4] == HYPHEN_PENALTY else 0)

    def path(self) -> list[Breakpoint]:
        """The line ends from the paragraph's start to the last row."""
        found: list[Breakpoint] = []
        row = len(self.ends) - 1
        while row:
            word, at, end, gaps, cost = self.ends[row]
            found.append(Breakpoint(word, at, end, gaps, self.widths[row], self.gaps[row], cost))
            row = self.previous[row]
        found.reverse()
        return found


def fit(
    words: Words,
    measures: Measures,
    tolerance: float,
    hyphenate: Hyphenate | None,
    *,
    micro: bool = True,
    forbidden: Collection[tuple[int, int]] = (),
) -> list[Breakpoint] | None:
    """Find the best line ends for lines of one width. None if no solution is within the tolerance.

    `tolerance`: how far a line may be stretched, in multiples of the normal stretch of its spaces. Without `hyphenate`,
    words are not divided. `micro`: letters may be widened or narrowed slightly. `forbidden`: pairs of a word and a
    place in it where a break is avoided.

    This runs for every paragraph, often twice, so it is optimised: most words are skipped quickly, because even the
    longest line that could end at them is too short.
    """
    measure = measures.full
    expansion = EXPANSION * measure if micro else 0.0
    last = len(words.tokens) - 1
    search = _Search(measures, tolerance, expansion, forbidden)
    active, start_widths, start_gaps = search.active, search.widths, search.gaps
    width = gaps = 0.0
    for word, token in enumerate(words.tokens):
        longest = active[0]
        room = (gaps - start_gaps[longest]) * STRETCH + expansion
        next_gaps = gaps + token.gap[1]
        if word == last or measure - (width + token.end - start_widths[longest]) <= room * tolerance:
            places = token.whole if hyphenate is None else token.divided(hyphenate)
            search.end_within(word, places, width, gaps, next_gaps, last=word == last)
            if not active:
                return None
        width += token.advance
        gaps = next_gaps
    return search.path() if search.ends[-1][:2] == (last, 0) else None


def in_last_word(words: Words, hyphenate: Hyphenate) -> set[tuple[int, int]]:
    """The hyphenation points of the last word.

    A break there is avoided, because the last line would have only a part of a word.
    """
    return {(len(words.tokens) - 1, at) for at, *_ in words.tokens[-1].divided(hyphenate) if at > 0}


def third_hyphen(ends: Sequence[Breakpoint]) -> tuple[int, int] | None:
    """The word and place of the hyphen that ends the third hyphenated line in a row. None if there is none."""
    row = 0
    for end in ends:
        row = row + 1 if end.at > 0 else 0
        if row == 3:
            return end.word, end.at
    return None


def first_fit(words: Words, measures: Measures, hyphenate: Hyphenate | None) -> list[Breakpoint]:
    """Line ends found greedily: each line is filled as far as possible. Never fails.

    The last word is hyphenated only if it is too wide for a line.
    """
    avoided = in_last_word(words, hyphenate) if hyphenate and words.tokens[-1].width <= measures.full else set()
    ends: list[Breakpoint] = []
    start = 0.0
    waiting: list[Breakpoint] = []  # the furthest end that the line has room for
    for place in places(words, hyphenate):
        if (place.word, place.at) in avoided:
            continue
        if waiting and place.width - start > measures(len(ends)):
            ends += waiting
            start = waiting[0].next_width
        waiting = [place]
    return ends + waiting


class _LineEnd(NamedTuple):
    """A node in the search of `fit_shaped`: where a line ends, lines so far, their cost, and consecutive hyphens."""

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
    forbidden: Container[tuple[int, int]] = (),
) -> list[Breakpoint] | None:
    """Like `fit`, for lines of different widths, and for a paragraph of exactly `wanted` lines if that is given."""
    last = len(words.tokens) - 1
    active = [_LineEnd(Breakpoint(-1, 0, 0.0, 0.0, 0.0, 0.0, 0.0), 0, 0.0, 0, None)]
    new: list[_LineEnd] = []
    width = gaps = 0.0
    for word, token in enumerate(words.tokens):
        if word == last or measures.notch_lines or _reached(active[0], measures, width + token.end, gaps, tolerance):
            for place in _within(word, token, width, gaps, hyphenate):
                is_last = word == last and not place.at
                if (word, place.at) in forbidden:
                    place = place._replace(penalty=FORBIDDEN)
                active, new = _lines_to(place, active, measures, tolerance, is_last=is_last, micro=micro)
                active += new
                if not active:
                    return None
        width += token.advance
        gaps += token.gap[1]
    finished = [node for node in new if wanted in (None, node.lines)]
    return _path(min(finished, key=lambda node: node.total)) if finished else None


def _reached(node: _LineEnd, measures: Measures, end: float, gaps: float, tolerance: float) -> bool:
    """Whether a line from the node to the text width `end` is long enough to be stretched to the full line width."""
    measure = measures(node.lines)
    room = (gaps - node.place.next_gaps) * STRETCH + EXPANSION * measure
    return measure - (end - node.place.next_width) <= room * tolerance


def _lines_to(
    place: Breakpoint, active: list[_LineEnd], measures: Measures, tolerance: float, *, is_last: bool, micro: bool
) -> tuple[list[_LineEnd], list[_LineEnd]]:
    """Try to end a line at `place`. Returns the nodes where later lines may begin, and the new nodes.

    Each of the `active` nodes is tried as the line's start; those from which the line is too long are dropped. For each
    number of lines so far, only the line with the lowest total cost gives a new node. `is_last`: the text ends here.
    """
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
