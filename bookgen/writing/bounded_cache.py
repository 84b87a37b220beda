"""A bounded cache for functions of short texts. Several rules that judge a chapter need the same results.

The text is the function's last argument. Results for long texts are not cached, since a few would fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def by_sentence(find: Callable[P, R]) -> Callable[P, R]:
    return _cached(find, most=4_096, longest=400)


def by_paragraph(find: Callable[P, R]) -> Callable[P, R]:
    return _cached(find, most=2_048, longest=5_000)


def _cached(find: Callable[P, R], *, most: int, longest: int) -> Callable[P, R]:
    """A function like `find` that caches the results for texts of at most `longest` characters.

    The cache holds the `most` results that were used most recently.
    """
    known = cast(Callable[P, R], lru_cache(maxsize=most)(find))

    @wraps(find)
    def found(*args: P.args, **kwargs: P.kwargs) -> R:
        return (known if len(str(args[-1])) <= longest else find)(*args, **kwargs)

    return found
