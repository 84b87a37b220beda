"""Join a reply to the text that it continues, leaving out words that the reply repeats from that text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from bookgen.writing.blocks import fences, stripped
from bookgen.writing.text_units import UNIT, by_character, units

MAX_OVERLAP_CHARACTERS = 8_000
MIN_OVERLAP_UNITS = 4  # fewer units may be a repetition on purpose
MAX_CHANCE_WORDS = 8  # or twice as many characters: the next sentence may start with the last words by chance


def without_overlap(before: str, piece: str) -> str:
    """`piece` without the beginning that repeats the end of `before`; empty if nothing is left."""
    last = before[-MAX_OVERLAP_CHARACTERS:].casefold()
    beginning = tuple(match[0].casefold() for match in islice(UNIT.finditer(piece), MIN_OVERLAP_UNITS))
    if len(beginning) < MIN_OVERLAP_UNITS or not all(unit in last for unit in beginning):
        return piece
    tail = units(last)
    if not _contains(tail, beginning):
        return piece
    found = list(UNIT.finditer(piece[:MAX_OVERLAP_CHARACTERS]))
    head = tuple(match[0].casefold() for match in found)
    if len(piece) <= MAX_OVERLAP_CHARACTERS and _contains(tail, head):
        return ""
    by_chance = MAX_CHANCE_WORDS * (2 if by_character(head[:40]) else 1)
    for count in range(min(len(tail), len(head)), MIN_OVERLAP_UNITS - 1, -1):
        if head[count - 1] != tail[-1] or head[:count] != tail[-count:]:
            continue
        end = found[count - 1].end()
        if code := next((fence for fence in fences(piece) if fence.start < end < fence.end), None):
            if UNIT.search(piece, end, code.end):
                continue
            return stripped(piece[code.end :])
        rest = piece[end:]
        if count > by_chance or rest.startswith(tuple(_STOPS)):
            return stripped(rest.lstrip(_STOPS))
    return piece


_STOPS = ".!?…。！？｡؟।॥\"'”’»)]】」』*_"


def _contains(whole: Sequence[str], part: Sequence[str]) -> bool:
    starts = (start for start, unit in enumerate(whole) if unit == part[0])
    return any(whole[start : start + len(part)] == part for start in starts)


def join(before: str, piece: str, *, same_paragraph: bool) -> str:
    """`before` followed by `piece`, in the same paragraph if `same_paragraph` is true, else in a new one."""
    if not before or not piece:
        return before or piece
    if not same_paragraph or re.match(r"#{1,6}\s|[-*+]\s|\d+[.)]\s|[|>]|\*\*\*|\s*(?:```|~~~)", piece):
        return f"{before}\n\n{piece}"
    unspaced = re.search(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]$", before)
    return f"{before}{piece}" if unspaced else f"{before} {piece}"
