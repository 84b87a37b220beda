"""Text as comparable units: words, or single characters in scripts without spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from bookgen.words import MARKS

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_LETTERS = rf"[^\W_{_UNSPACED}]"
UNIT = re.compile(rf"[{_UNSPACED}]|{_LETTERS}+(?:[{MARKS}]+{_LETTERS}*|['’]{_LETTERS}+)*")
_ASCII_UNIT = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
LONGEST_REMEMBERED, REMEMBERED = 400, 4_096  # characters of a sentence, sentences: each rule asks for the same


def units(text: str) -> tuple[str, ...]:
    return _units(text) if len(text) <= LONGEST_REMEMBERED else _units.__wrapped__(text)


@lru_cache(maxsize=REMEMBERED)
def _units(text: str) -> tuple[str, ...]:
    pattern = _ASCII_UNIT if text.isascii() else UNIT  # of ASCII both find the same, one sooner
    return tuple(pattern.findall(text.casefold()))


def by_character(said: Sequence[str]) -> bool:
    if "".join(said).isascii():
        return False
    return sum(len(unit) == 1 and not unit.isascii() for unit in said) > len(said) / 2
