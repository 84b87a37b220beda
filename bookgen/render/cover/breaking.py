"""Breaks a title into lines: at places that keep the sense, and as evenly as possible."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen.render.characters import is_wide
from bookgen.render.cover.faces import DisplayFace
from bookgen.render.fonts.hyphens import Hyphens
from bookgen.render.fonts.typeface import Pieces, Typeface, clusters
from bookgen.render.layout.bidi import has_rtl, parts
from bookgen.render.layout.word_metrics import SPACE_WIDTH
from bookgen.render.layout.words import units

# Words that belong to the next word, so a line should not end with them.
_LEANING_WORDS = """
a an the of and or in on to for from with by at as my your our his her its their is no not but nor than
i you he she we they it who what which that when where how why if
der die das des dem den ein eine einer eines einem einen und oder im am auf aus von vom zu zum zur mit für bei ohne
über unter vor nach le la les un une de du et ou à au aux en sur sous dans par pour sans el los las una unos unas y
o del al con para sin lo gli i uno e da di della dei delle nel nella per tra os um uma do dos das na no nas nos em
com het een van op te voor met w z na od ze we u k s v ke ku se po pri det ett och av på till för med bir ve ile bu
в на и с к о от до за по из у не ни для над под та й з із зі від ο η το οι τα του της των και στο στη με για από
של את על אל עם في من إلى على عن
"""
_LEANING = frozenset(_LEANING_WORDS.split())
_PARTICLES = frozenset("のはをにがでとへもや的之与和與的了")
# The cost of a break between two ideographs. Japanese marks its word ends with particles, so a break anywhere else is
# probably within a word and costs more.
_WITHIN_JAPANESE, _WITHIN_CHINESE = 60.0, 8.0
# The cost of a break within a phrase: between two words of which the second is not one of those above.
_WITHIN_PHRASE = 40.0
_ENDS = ":：;；—–.!?！？。"
_PAUSES = ",，、،"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a title that is never divided.

    `width`, and `gap` (the space after it within a line), are per mille of the type size. `cost` is the cost of a line
    break after it, and `hyphen` is shown at such a break.
    """

    pieces: Pieces
    width: float
    gap: float
    cost: float
    hyphen: Pieces = ()

    @property
    def ended(self) -> float:
        """The unit's width at the end of a line, with its hyphen if it has one."""
        return self.width + sum(style.word(text)[0] for text, style in self.hyphen)


Lines = list[Sequence[Unit]]


class Units:
    """Divides texts in one typeface into units: pieces that are never divided further."""

    def __init__(self, typeface: Typeface, language: str, face: DisplayFace, kind: Mapping[str, Any]) -> None:
        self._typeface, self._kind = typeface, kind
        self._within = _WITHIN_JAPANESE if language.split("-")[0].lower() == "ja" else _WITHIN_CHINESE
        self._hyphens = Hyphens(language)
        self._tracking = face.tracking

    def divide(self, text: str, widest: float) -> list[Unit]:
        """Divide a text into units. A word wider than `widest` becomes several.

        `widest` is the line width at the smallest type size, in per mille of that size.
        """
        found: list[Unit] = []
        for word, after in itertools.pairwise([*text.split(), ""]):
            found += self._word(word, _cost_after(word, after), widest)
        return found

    def _word(self, word: str, cost: float, widest: float) -> list[Unit]:
        """Divide one word into units. `cost`: the cost of a line break after the word."""
        if not word.isascii() and any(map(is_wide, word)) and not _is_korean(word):
            cut = [part for part, _ in units(word)]
            ends = itertools.pairwise([*cut, ""])
            whole = [self._unit(part, 0.0, _cost_between(part, after, self._within)) for part, after in ends]
            return [*whole[:-1], self._unit(cut[-1], SPACE_WIDTH, cost)]
        unit = self._unit(word, SPACE_WIDTH, cost)
        if unit.width <= widest or has_rtl(word):
            return [unit] if unit.width <= widest else self._divide_anywhere(word, cost, widest)
        return self._hyphenated(word, cost, widest)

    def _hyphenated(self, word: str, cost: float, widest: float) -> list[Unit]:
        places = [0, *self._hyphens(word), len(word)]
        hyphen = self._pieces("‐")
        found: list[Unit] = []
        for start, end in itertools.pairwise(places):
            last = end == len(word)
            part = self._unit(word[start:end], SPACE_WIDTH * last, cost if last else 60.0)
            if part.width > widest * 0.9:
                return self._divide_anywhere(word, cost, widest)
            found.append(part if last else Unit(part.pieces, part.width, 0.0, 60.0, hyphen))
        return found

    def _divide_anywhere(self, word: str, cost: float, widest: float) -> list[Unit]:
        """Divide a word that cannot be hyphenated. The units are almost `widest` wide and may end after any letter."""
        found: list[Unit] = []
        held = ""
        for letter in clusters(word):
            if held and self._unit(held + letter, 0.0, 0.0).width > widest * 0.9:
                found.append(self._unit(held, 0.0, 60.0))
                held = ""
            held += letter
        return [*found, self._unit(held, SPACE_WIDTH, cost)]

    def _unit(self, text: str, gap: float, cost: float) -> Unit:
        pieces = self._pieces(text)
        letters = sum(len(part) for part, _ in pieces) if spaced(text) else 0
        width = sum(style.word(part)[0] for part, style in pieces) + self._tracking * letters
        return Unit(pieces, width, gap + self._tracking * bool(gap), cost)

    def _pieces(self, text: str) -> Pieces:
        whole = parts(text) if has_rtl(text) else [text]
        return tuple(piece for part in whole for piece in self._typeface.pieces(part, **self._kind))


def spaced(text: str) -> bool:
    """Whether the text can be letter-spaced: only Latin, Greek and Cyrillic can."""
    return all(character < "\u0530" or "\u1e00" <= character < "\u2070" for character in text)


def break_lines(units: Sequence[Unit], count: int, evenness: float) -> Lines | None:
    """Break the units into exactly `count` lines at the lowest cost.

    Returns None if there are fewer units than lines, or if the lines would be very uneven: to save time, very uneven
    lines are not tried. `evenness` weights the cost of uneven lines.
    """
    if count > len(units):
        return None
    reach = [0.0]
    for unit in units:
        reach.append(reach[-1] + unit.width + unit.gap)
    mean = reach[-1] / count
    longest = max(unit.ended for unit in units)
    widest = max(mean * 1.6, longest)
    costs: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
    for number in range(1, count + 1):
        row: dict[int, tuple[float, int]] = {}
        least, most = ((number + 1.5 * side) * mean + side * longest for side in (-1, 1))
        for end in range(number, len(units) - (count - number) + 1):
            if (end == len(units)) != (number == count) or not least <= reach[end] <= most:
                continue
            found = _cheapest(units, reach, costs[-1], end, mean, widest, evenness)
            if found:
                row[end] = found
        costs.append(row)
    if len(units) not in costs[-1]:
        return None
    ends = [len(units)]
    for row in reversed(costs[1:]):
        ends.append(row[ends[-1]][1])
    ends.reverse()
    return [units[start:end] for start, end in itertools.pairwise(ends)]


def _cheapest(
    units: Sequence[Unit],
    reach: Sequence[float],
    before: dict[int, tuple[float, int]],
    end: int,
    mean: float,
    widest: float,
    evenness: float,
) -> tuple[float, int] | None:
    """Find the best line that ends before the unit `end`. Returns the total cost so far and the line's first unit.

    `before` maps each unit at which this line can start to two results for the line above: the total cost so far, and
    the index of the first unit. `reach`: the width of the text before each unit. `mean`, `widest`: the mean and the
    greatest line width. Returns None if every possible line would be too wide.
    """
    last = units[end - 1]
    cost = last.cost if end < len(units) else 0.0
    reached = reach[end - 1] + last.ended
    best: tuple[float, int] | None = None
    for start in range(end - 1, -1, -1):
        width = reached - reach[start]
        if width > widest:
            break
        known = before.get(start)
        if known is None:
            continue
        total = known[0] + evenness * (width / mean - 1.0) ** 2 + cost
        if best is None or total < best[0]:
            best = total, start
    return best


def _cost_after(word: str, after: str) -> float:
    """The cost of a line break between two words, `word` before it and `after` behind it ("" at the end)."""
    if word[-1] in _ENDS:
        return -12.0
    if word[-1] in _PAUSES:
        return -6.0
    if _leans(word):
        return 70.0
    return 0.0 if not after or _leans(after) else _WITHIN_PHRASE


def _leans(word: str) -> bool:
    return word.casefold().strip("«»“”\"'(¿¡") in _LEANING


def _cost_between(part: str, after: str, within: float) -> float:
    """The cost of a line break between two ideographs, `part` before it and `after` behind it.

    `within` is the cost of a break that may divide a word. A break after a punctuation mark or a particle costs less.
    """
    if part[-1] in _ENDS + _PAUSES:
        return -8.0
    if after[:1] in _PARTICLES:
        return 25.0
    return 0.0 if part[-1] in _PARTICLES else within


def _is_korean(word: str) -> bool:
    return all("\uac00" <= letter <= "\ud7af" for letter in word if is_wide(letter))
