"""What a story names, by the words of several languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def first_told_of(told: str, known: Iterable[tuple[str, T]]) -> T | None:
    """Of what is known by a pattern of words the one whose words come first; None where none do."""
    found = [(match.start(), of) for words, of in known if (match := re.search(rf"\b(?:{words})", told.lower()))]
    return min(found, key=lambda each: each[0])[1] if found else None
