"""What the author has corrected, and the passages that still say the former value where that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bookgen.models import Fact, FactStatus
from bookgen.writing.facts.contradictions import Contradiction, key

MIN_LETTERS = 3  # of a word whose change counts: shorter ones are mostly articles
LISTS = ("people", "places", "terms")  # of a bible

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\d+|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+")
_BY_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")

Words = tuple[str, ...]


def outdated(facts: Sequence[Fact]) -> list[Contradiction]:
    """The passages that say a value which the author has corrected, in the order of the book."""
    found = [
        Contradiction("corrected", fact, each, f"The author has settled: {fact.subject}: {fact.value}.")
        for fact in facts
        if fact.noted and fact.status is FactStatus.SETTLED and (change := _change(fact.noted, fact.value))
        for each in facts
        if each.status is FactStatus.SETTLED and _is_about_the_same(each, fact) and _still_says(each.quote, change)
    ]
    return sorted(found, key=lambda each: each.later.chapter_number)


def _is_about_the_same(each: Fact, fact: Fact) -> bool:
    """Whether both are the same fact, or say the same of the same subject."""
    said = (each.kind, each.event, key(each.subject), each.noted or each.value)
    return said == (fact.kind, fact.event, key(fact.subject), fact.noted)


def corrected_by_bible(
    before: Mapping[str, Any], after: Mapping[str, Any], facts: Iterable[Fact]
) -> list[tuple[Fact, str]]:
    """The facts that a changed entry of the bible corrects, each with its new value.

    An entry corrects a fact about its name if one expression of it has changed, and both the fact and its quote have
    the former expression.
    """
    changes = list(_changed_entries(before, after))
    found: list[tuple[Fact, str]] = []
    for fact in facts:
        for name, (old, new) in changes:
            place = _find(_words(fact.value), old)
            if key(fact.subject) == name and place is not None and _still_says(fact.quote, (old, new)):
                found.append((fact, _replaced(fact.value, place, len(old), new)))
                break
    return found


def _changed_entries(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Words, Words]]]:
    for entries in LISTS:
        former = _by_name(before.get(entries))
        for name, entry in _by_name(after.get(entries)).items():
            for field, text in entry.items():
                old = former.get(name, {}).get(field)
                if isinstance(old, str) and isinstance(text, str) and (change := _change(old, text)):
                    yield name, change


def _by_name(entries: object) -> dict[str, Mapping[str, Any]]:
    listed = entries if isinstance(entries, list) else []
    return {key(entry["name"]): entry for entry in listed if isinstance(entry, Mapping) and entry.get("name")}


def _change(old: str, new: str) -> tuple[Words, Words] | None:
    """The one expression that differs, as it was and as it is; None if there is none on either side."""
    one, other = _words(old), _words(new)
    start = next((at for at, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), None)
    if start is None:
        return None
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    change = one[start : len(one) - end], other[start : len(other) - end]
    return change if all(change) and any(map(_counts, change[0])) else None


def _counts(word: str) -> bool:
    return len(word) >= MIN_LETTERS or word.isdecimal() or bool(_BY_CHARACTER.match(word))


def _still_says(quote: str, change: tuple[Words, Words]) -> bool:
    words = _words(quote)
    return _find(words, change[0]) is not None and _find(words, change[1]) is None


def _find(words: Words, expression: Words) -> int | None:
    places = range(len(words) - len(expression) + 1)
    return next((at for at in places if words[at : at + len(expression)] == expression), None)


def _words(text: str) -> Words:
    return tuple(word.casefold() for word in _WORD.findall(text))


def _replaced(text: str, place: int, count: int, new: Words) -> str:
    found = list(_WORD.finditer(text))[place : place + count]
    joint = "" if all(map(_BY_CHARACTER.match, new)) else " "
    return text[: found[0].start()] + joint.join(new) + text[found[-1].end() :]
