"""Finds in a story's text what to draw, by words of several languages. Also makes the generator for random choices."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def first_mentioned(story_text: str, known: Iterable[tuple[str, T]]) -> T | None:
    """The thing whose word pattern matches first in the text, or None. `known` has pairs of a pattern and a thing."""
    text = story_text.lower()
    found = [(match.start(), thing) for words, thing in known if (match := re.search(rf"\b(?:{words})", text))]
    return min(found, key=lambda each: each[0])[1] if found else None


def chance_of(*texts: str) -> random.Random:
    """A random generator seeded with the texts, so equal texts give equal results."""
    return random.Random(hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest())
