"""What is drawn of what is told: named by the words of several languages, or settled by chance."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def first_told_of(told: str, known: Iterable[tuple[str, T]]) -> T | None:
    """Of what is known by a pattern of words the one whose words come first; None where none do."""
    found = [(match.start(), of) for words, of in known if (match := re.search(rf"\b(?:{words})", told.lower()))]
    return min(found, key=lambda each: each[0])[1] if found else None


def chance_of(*told: str) -> random.Random:
    """Chance that is the same whenever the same is told."""
    return random.Random(hashlib.sha256("\0".join(told).encode("utf-8", "surrogatepass")).digest())
