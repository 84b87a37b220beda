"""Text as comparable units: words, or single characters in scripts without spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bookgen.words import MARKS

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_LETTERS = rf"[^\W_{_UNSPACED}]"
UNIT = re.compile(rf"[{_UNSPACED}]|{_LETTERS}+(?:[{MARKS}]+{_LETTERS}*|['’]{_LETTERS}+)*")


def units(text: str) -> list[str]:
    return UNIT.findall(text.casefold())


def by_character(said: Sequence[str]) -> bool:
    return sum(len(unit) == 1 and not unit.isascii() for unit in said) > len(said) / 2
