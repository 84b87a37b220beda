"""Which people, places and terms of a collection belong to which of its separate stories.

The description of such an entry begins with the number of its story in square brackets: "[2] 54, a ferry purser". An
entry without a number belongs to the whole book.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bookgen.models import Book, has_separate_stories

_MARK = re.compile(r"\s*[\[［【]([^\]］】]{1,40})[\]］】]\s*")
_LISTS = ("people", "places", "terms")


def shared(bible: Mapping[str, Any]) -> dict[str, Any]:
    """What the bible settles for every story: neither the entries of one story, nor the order of the stories."""
    return _with_entries({key: value for key, value in bible.items() if key != "arc"}, lambda numbers: not numbers)


def of_story(bible: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The lists of the bible with the entries that are marked with the number of this story."""
    lists = {key: value for key, value in bible.items() if key in _LISTS}
    return _with_entries(lists, lambda numbers: number in numbers)


def bible_for(book: Book, number: int) -> Mapping[str, Any]:
    """The bible for chapter `number`: without the entries that belong only to other stories of a collection."""
    if not has_separate_stories(book):
        return book.bible
    return _with_entries(book.bible, lambda numbers: not numbers or number in numbers)


def numbers_of(entry: object) -> set[int]:
    """The numbers of the stories that an entry of the bible belongs to; empty if it belongs to the whole book."""
    description = entry.get("description") if isinstance(entry, Mapping) else None
    found = _MARK.match(description) if isinstance(description, str) else None
    return {int(number) for number in re.findall(r"\d{1,3}", found[1])} if found else set()


def without_mark(description: str) -> str:
    """The description of an entry without the number of its story."""
    return _MARK.sub("", description, count=1) if _MARK.match(description) else description


def _with_entries(bible: Mapping[str, Any], belongs: Callable[[set[int]], bool]) -> dict[str, Any]:
    """The bible with only those entries of its lists for whose story numbers `belongs` is true."""
    lists = {key: value for key, value in bible.items() if key in _LISTS and isinstance(value, list)}
    return {**bible, **{key: [each for each in value if belongs(numbers_of(each))] for key, value in lists.items()}}
