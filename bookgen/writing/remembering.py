"""What a function has found in short texts, remembered: of the rules that judge a chapter each asks for the same.

The text is a function's last argument. In a long one it is found anew: a few of those would take all the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

R = TypeVar("R")


def by_sentence(find: Callable[..., R]) -> Callable[..., R]:
    return _remembered(find, most=4_096, longest=400)


def by_paragraph(find: Callable[..., R]) -> Callable[..., R]:
    return _remembered(find, most=2_048, longest=5_000)


def _remembered(find: Callable[..., R], *, most: int, longest: int) -> Callable[..., R]:
    """Remembers what was found in the `most` newest texts of no more than `longest` characters."""
    known = lru_cache(maxsize=most)(find)

    @wraps(find)
    def found(*arguments: Any) -> R:
        return known(*arguments) if len(arguments[-1]) <= longest else find(*arguments)

    return found
