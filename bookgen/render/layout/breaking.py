"""Total-fit line breaking after Knuth and Plass, with hanging punctuation and a little glyph expansion.

All widths are per mille of the type size, so one measure serves every size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from bookgen.render.layout.tokens import HYPHEN_PENALTY, Hyphenate
from bookgen.render.layout.words import SEAM, Words

SPACE_WIDTH, STRETCH, SHRINK = 250.0, 125.0, 55.0
EXPANSION = 0.02  # letters may grow or shrink by two parts in a hundred
SEAM_PENALTY = 60.0
FORBIDDEN = 5000.0  # a hyphen that would be the third in a row
FIRST_TOLERANCE, SECOND_TOLERANCE, ANYTHING = 1.3, 2.2, 1e9
_LADDER = (1.0, 4.0, 2000.0)  # a second hyphen in a row costs more, a third almost everything
_SHORT_LAST_LINE = 0.86
_INFINITE = 1e18

Node = tuple[int, int]  # a breakpoint, and how many lines lead to it


@dataclass(slots=True)
class Breakpoints:
    """Parallel lists: a line that ends at i is `end_width[i]` long from the paragraph's start, and so on.

    `place[i]` is (word, at): at 0 after the word, at > 0 inside it with a hyphen, at < 0 inside without one.
    """

    end_width: list[float] = field(default_factory=list)
    end_gaps: list[float] = field(default_factory=list)
    start_width: list[float] = field(default_factory=list)
    start_gaps: list[float] = field(default_factory=list)
    penalty: list[float] = field(default_factory=list)
    place: list[tuple[int, int]] = field(default_factory=list)


def breakpoints(words: Words, hyphenate: Hyphenate | None) -> Breakpoints:
    """Every place where a line may end; without `hyphenate` words stay whole.

    Runs for every paragraph, often twice: the lists are filled in place, in one loop.
    """
    hanging = 0.0 if words.rtl else 1.0
    if hyphenate is None and not any(token.whole for token in words.tokens):
        return _between_words(words, hanging)
    points = Breakpoints()
    end_width, end_gaps = points.end_width.append, points.end_gaps.append
    start_width, start_gaps = points.start_width.append, points.start_gaps.append
    penalty, place = points.penalty.append, points.place.append
    width = gaps = 0.0
    for index, (token, gap) in enumerate(zip(words.tokens, words.gaps, strict=True)):
        for at, part, end, cost in token.whole if hyphenate is None else token.divided(hyphenate):
            end_width(width + end)
            end_gaps(gaps)
            start_width(width + part)
            start_gaps(gaps)
            penalty(cost)
            place((index, at))
        width += token.width
        end_width(width - token.overhang * hanging)
        end_gaps(gaps)
        width += SPACE_WIDTH * gap[0]
        gaps += gap[1]
        start_width(width)
        start_gaps(gaps)
        penalty(SEAM_PENALTY if gap is SEAM else 0.0)
        place((index, 0))
    return points


def _between_words(words: Words, hanging: float) -> Breakpoints:
    """The common case: whole words and nothing within them."""
    tokens, gaps = words.tokens, words.gaps
    spaces = [SPACE_WIDTH * gap[0] for gap in gaps]
    start_width = list(accumulate(token.width + space for token, space in zip(tokens, spaces, strict=True)))
    start_gaps = list(accumulate(gap[1] for gap in gaps))
    return Breakpoints(
        end_width=[
            start - space - token.overhang * hanging
            for start, space, token in zip(start_width, spaces, tokens, strict=True)
        ],
        end_gaps=[start - gap[1] for start, gap in zip(start_gaps, gaps, strict=True)],
        start_width=start_width,
        start_gaps=start_gaps,
        penalty=[SEAM_PENALTY if gap is SEAM else 0.0 for gap in gaps],
        place=[(index, 0) for index in range(len(tokens))],
    )


def fit(
    points: Breakpoints, measure: float, indent: float, tolerance: float, *, micro: bool = True
) -> list[int] | None:
    """The best lines of one measure: after which breakpoints they end (counted from 1). None: none is good enough."""
    end_width, end_gaps, penalty = points.end_width, points.end_gaps, points.penalty
    start_width = [-indent, *points.start_width]
    start_gaps = [0.0, *points.start_gaps]
    count = len(end_width)
    expansion = EXPANSION * measure if micro else 0.0
    total = [0.0] + [_INFINITE] * count
    previous = [-1] * (count + 1)
    ladder = [0] * (count + 1)  # how many lines in a row end with a hyphen, up to each node
    active = [0]
    final = count - 1
    for point in range(count):
        end, gaps, cost = end_width[point], end_gaps[point], penalty[point]
        best, chosen, overfull = _INFINITE, -1, False
        is_last = point == final
        for start in active:
            missing = measure - (end - start_width[start])
            if missing < 0.0:
                room = (gaps - start_gaps[start]) * SHRINK + expansion
                if -missing > room:
                    overfull = True
                    continue
                ratio = -missing / room
                badness = 100.0 * ratio * ratio * ratio
            elif is_last:
                badness = 0.0 if missing < measure * _SHORT_LAST_LINE else 120.0
            else:
                room = (gaps - start_gaps[start]) * STRETCH + expansion
                if room <= 0.0:
                    if tolerance < ANYTHING:
                        continue
                    room = 1.0
                ratio = missing / room
                if ratio > tolerance:
                    continue
                badness = 100.0 * ratio * ratio * ratio
            demerits = (10.0 + badness) ** 2
            if cost:
                demerits += cost * cost * (_LADDER[ladder[start]] if cost == HYPHEN_PENALTY else 1.0)
            demerits += total[start]
            if demerits < best:
                best, chosen = demerits, start
        if overfull:
            active = [
                start
                for start in active
                if measure - (end - start_width[start]) >= -((gaps - start_gaps[start]) * SHRINK + expansion)
            ]
        if chosen >= 0:
            total[point + 1] = best
            previous[point + 1] = chosen
            if cost == HYPHEN_PENALTY:
                ladder[point + 1] = min(2, ladder[chosen] + 1)
            active.append(point + 1)
        if not active:
            return None
    return _trace(previous, count) if total[count] < _INFINITE else None


def _trace(previous: Sequence[int], at: int) -> list[int]:
    ends = []
    while at > 0:
        ends.append(at)
        at = previous[at]
    ends.reverse()
    return ends


def ladder(points: Breakpoints, ends: Sequence[int]) -> int | None:
    """The breakpoint of the first hyphen that is the third in a row."""
    row = 0
    for end in ends:
        row = row + 1 if points.place[end - 1][1] > 0 else 0
        if row == 3:
            return end - 1
    return None


def first_fit(points: Breakpoints, measures: Callable[[int], float]) -> list[int]:
    """Line by line, as full as each will go; never fails. `measures(n)` is the room of line n, from 0."""
    ends: list[int] = []
    start_width = [0.0, *points.start_width]
    start = 0
    candidate: int | None = None
    index, count = 0, len(points.end_width)
    while index < count:
        room = measures(len(ends))
        if points.end_width[index] - start_width[start] > room and candidate is not None:
            ends.append(candidate)
            start, candidate = candidate, None
            continue
        candidate = index + 1
        index += 1
    ends.append(count)
    return ends


def fit_shaped(
    points: Breakpoints,
    measures: Callable[[int], float],
    tolerance: float,
    *,
    wanted: int | None = None,
    micro: bool = True,
) -> list[int] | None:
    """As `fit`, where each line has its own measure, or the paragraph must have `wanted` lines."""
    end_width, end_gaps, penalty = points.end_width, points.end_gaps, points.penalty
    start_width = [0.0, *points.start_width]
    start_gaps = [0.0, *points.start_gaps]
    count = len(end_width)
    # (start, line) -> (total demerits, previous node)
    nodes: dict[Node, tuple[float, Node | None]] = {(0, 0): (0.0, None)}
    active: list[tuple[int, int]] = [(0, 0)]
    for point in range(count):
        best: dict[int, tuple[float, tuple[int, int]]] = {}
        alive: list[tuple[int, int]] = []
        for node in active:
            start, line = node
            measure = measures(line)
            gaps = end_gaps[point] - start_gaps[start]
            badness = _badness(
                measure - (end_width[point] - start_width[start]), gaps, measure, point == count - 1, tolerance, micro
            )
            if badness is None:
                continue
            alive.append(node)
            if badness < 0.0:
                continue
            demerits = nodes[node][0] + (10.0 + badness) ** 2
            if penalty[point] == HYPHEN_PENALTY:
                demerits += HYPHEN_PENALTY**2 * _LADDER[_ladder(nodes, node, penalty)]
            else:
                demerits += penalty[point] ** 2
            if line + 1 not in best or demerits < best[line + 1][0]:
                best[line + 1] = (demerits, node)
        active = alive
        for line, found in best.items():
            nodes[point + 1, line] = found
            active.append((point + 1, line))
        if not active:
            return None
    finished = [(nodes[node][0], node) for node in nodes if node[0] == count and (wanted is None or node[1] == wanted)]
    if not finished:
        return None
    ends: list[int] = []
    at: tuple[int, int] | None = min(finished)[1]
    while at is not None and at[0] > 0:
        ends.append(at[0])
        at = nodes[at][1]
    ends.reverse()
    return ends


def _ladder(nodes: dict[Node, tuple[float, Node | None]], at: Node | None, penalty: Sequence[float]) -> int:
    """How many lines before this node end with a hyphen, up to two."""
    count = 0
    while count < 2 and at is not None and at[0] > 0 and penalty[at[0] - 1] == HYPHEN_PENALTY:
        count += 1
        at = nodes[at][1]
    return count


def _badness(missing: float, gaps: float, measure: float, is_last: bool, tolerance: float, micro: bool) -> float | None:
    """None: too full for ever. Negative: not full enough yet."""
    expansion = EXPANSION * measure if micro else 0.0
    if missing < 0.0:
        room = gaps * SHRINK + expansion
        return None if -missing > room else 100.0 * (-missing / room) ** 3
    if is_last:
        return 0.0 if missing < measure * _SHORT_LAST_LINE else 120.0
    room = gaps * STRETCH + expansion
    if room <= 0.0 or missing / room > tolerance:
        return -1.0
    return 100.0 * float((missing / room) ** 3)
