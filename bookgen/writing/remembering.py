"""What a function has found in short texts, remembered: of the rules that judge a chapter each asks for the same.

The text is a function's last argument. In a long one it is found anew: a few of those would take all the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def by_sentence(find: Callable[P, R]) -> Callable[P, R]:
    return _remembered(find, most=4_096, longest=400)


def by_paragraph(find: Callable[P, R]) -> Callable[P, R]:
    return _remembered(find, most=2_048, longest=5_000)


def _remembered(find: Callable[P, R], *, most: int, longest: int) -> Callable[P, R]:
    """Remembers what was found in the `most` newest texts of no more than `longest` characters."""
    known = cast(Callable[P, R], lru_cache(maxsize=most)(find))

    @wraps(find)
    def found(*args: P.args, **kwargs: P.kwargs) -> R:
        return (known if len(str(args[-1])) <= longest else find)(*args, **kwargs)

    return found
