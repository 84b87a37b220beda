"""Text as comparable units: words, or single characters in scripts without spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookgen.words import MARKS
from bookgen.writing.bounded_cache import by_sentence

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_LETTERS = rf"[^\W_{_UNSPACED}]"
UNIT = re.compile(rf"[{_UNSPACED}]|{_LETTERS}+(?:[{MARKS}]+{_LETTERS}*|['’]{_LETTERS}+)*")
_ASCII_UNIT = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")


@by_sentence
def units(text: str) -> tuple[str, ...]:
    pattern = _ASCII_UNIT if text.isascii() else UNIT  # for ASCII both patterns match the same, and this one is faster
    return tuple(pattern.findall(text.casefold()))


def by_character(said: Sequence[str]) -> bool:
    if "".join(said).isascii():
        return False
    return sum(len(unit) == 1 and not unit.isascii() for unit in said) > len(said) / 2
