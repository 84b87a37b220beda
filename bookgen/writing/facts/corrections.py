"""The author's corrections of facts, and the passages that clearly still have the old value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq
from typing import Any

from bookgen.models import Fact, FactStatus
from bookgen.writing.facts.contradictions import Contradiction, short_forms
from bookgen.writing.facts.wording import SIGNS, is_form_of, key

MIN_LETTERS = 3  # of a word whose change counts; shorter words are mostly articles
LISTS = ("people", "places", "terms")  # of a bible
MAX_CHANGES = 40  # remembered changes of a book's bible
MAX_CHANGE = 300  # characters of one remembered change

_WORD = re.compile(rf"[\u3040-\u30ff\u3400-\u9fff]|\d+|(?:[^\W\d_\u3040-\u30ff\u3400-\u9fff][{SIGNS}]*)+")
_BY_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")

Words = tuple[str, ...]


def outdated(facts: Sequence[Fact]) -> list[Contradiction]:
    """The passages that still have a value that the author has corrected, in the order of their chapters."""
    found = [
        Contradiction("corrected", fact, each, f"The author has corrected this fact: {fact.subject}: {fact.value}.")
        for fact in facts
        if fact.noted and fact.status is FactStatus.SETTLED and (change := _change(fact.noted, fact.value))
        for each in facts
        if each.status is FactStatus.SETTLED and _is_about_the_same(each, fact) and still_says(each.quote, change)
    ]
    return sorted(found, key=lambda each: each.later.chapter_number)


def _is_about_the_same(each: Fact, fact: Fact) -> bool:
    """Whether `each` is `fact`, or said the same about the same subject before the author corrected `fact`."""
    said = (each.kind, each.event, key(each.subject), each.noted or each.value)
    return said == (fact.kind, fact.event, key(fact.subject), fact.noted)


def corrected_by_bible(
    before: Mapping[str, Any], after: Mapping[str, Any], facts: Iterable[Fact]
) -> list[tuple[Fact, str]]:
    """The facts that a change of the story bible corrects, each with its new value.

    `before` and `after`: the bible before and after the change. A fact is corrected if it is about a changed entry, and
    both its value and its quote have the expression that the author has replaced in the entry.
    """
    changes, whole = list(_changed_entries(before, after)), _whole_names(after)
    found: list[tuple[Fact, str]] = []
    for fact in facts:
        for name, change in changes:
            place = _place_of_old_words(fact, name, change, whole)
            if place is not None:
                found.append((fact, _replaced(fact.value, place, len(change[0]), change[1])))
                break
    return found


def with_changes(
    known: Sequence[Mapping[str, str]], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Mapping[str, str]]:
    """The `known` changes of the story bible and those between the versions `before` and `after`, the newest last.

    Each change is a dict: "name" is the name of the changed entry, "was" the old words, "is" the new words. If the
    entry itself was renamed, "name" and "was" are both the old name, and "is" is the new name.
    """
    found = [(name, *map(" ".join, change)) for name, change in _changed_entries(before, after)]
    found += [(name, name, new) for name, new in _renamed(before, after)]
    fresh = [dict(zip(("name", "was", "is"), each, strict=True)) for each in found if len("".join(each)) <= MAX_CHANGE]
    return [*(each for each in known if each not in fresh), *fresh][-MAX_CHANGES:]


def outdated_by_bible(
    bible: Mapping[str, Any], changes: Sequence[Mapping[str, str]], facts: Sequence[Fact]
) -> list[Contradiction]:
    """The passages that contradict the author's changes in the bible, found by facts that still have the old value.

    A change is ignored if the bible no longer has the new text of the change. If an old name occurs several times in a
    chapter, only the first passage is reported.
    """
    found: dict[tuple[int, str, str], Contradiction] = {}
    whole = _whole_names(bible)
    for change in changes:
        name, was, new = key(change["name"]), words_of(change["was"]), words_of(change["is"])
        says = current_text(bible, name, was, new)
        for fact in facts if says else ():
            if fact.status is not FactStatus.SETTLED:
                continue
            if words_of(name) == was:
                if key(fact.subject) == name and still_says(fact.quote, (was, new)):
                    why = f"The author has renamed {change['was']} to {change['is']}."
                    found.setdefault((fact.chapter_number, name, ""), Contradiction("corrected", fact, fact, why))
            elif _place_of_old_words(fact, name, (was, new), whole) is not None:
                why = f"The story bible now says: {says}."
                found.setdefault((fact.chapter_number, name, fact.quote), Contradiction("corrected", fact, fact, why))
    return sorted(found.values(), key=lambda each: each.later.chapter_number)


def current_text(bible: Mapping[str, Any], name: str, was: Words, new: Words) -> str:
    """What the bible now says about the entry `name`, as one line; empty if it no longer has the `new` words.

    `was`: the words that `new` replaced. If `was` is the entry's name, the entry was renamed, and the result is the new
    name.
    """
    entries = {each: entry for listed in LISTS for each, entry in by_name(bible.get(listed)).items()}
    if words_of(name) == was:  # a different name
        return "" if name in entries or key(" ".join(new)) not in entries else " ".join(new)
    entry = entries.get(name, {})
    texts = [text for field, text in entry.items() if field != "name" and isinstance(text, str)]
    says = next((text for text in texts if still_says(text, (new, was))), "")
    return f"{entry['name']}: {says.rstrip('.')}" if says else ""


def _place_of_old_words(fact: Fact, name: str, change: tuple[Words, Words], whole: Mapping[str, str]) -> int | None:
    """The index of the old expression's first word in the fact's value.

    None unless the fact is about `name` and both its value and its quote have the old expression. `whole`: maps a part
    of a name to the whole name.
    """
    subject, place = key(fact.subject), find_words(words_of(fact.value), change[0])
    is_about_it = whole.get(subject, subject) == name
    return place if is_about_it and place is not None and still_says(fact.quote, change) else None


def _whole_names(bible: Mapping[str, Any]) -> Mapping[str, str]:
    """Map the parts of the entries' names, such as surnames, to the whole names. Ambiguous parts are left out."""
    return short_forms([name for entries in LISTS for name in by_name(bible.get(entries))])


def _changed_entries(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Words, Words]]]:
    for entries in LISTS:
        former = by_name(before.get(entries))
        for name, entry in by_name(after.get(entries)).items():
            for field, text in entry.items():
                old = former.get(name, {}).get(field)
                if isinstance(old, str) and isinstance(text, str) and (change := _change(old, text)):
                    yield name, change


def _renamed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The old and the new name of each entry of the story bible that differs only in its name."""
    for entries in LISTS:
        former, present = by_name(before.get(entries)), by_name(after.get(entries))
        for (old, was), (new, entry) in zip(former.items(), present.items(), strict=False):
            rest = [{field: text for field, text in each.items() if field != "name"} for each in (was, entry)]
            if old not in present and new not in former and rest[0] == rest[1] and any(map(_counts, words_of(old))):
                yield str(was["name"]), str(entry["name"])


def by_name(entries: object) -> dict[str, Mapping[str, Any]]:
    listed = entries if isinstance(entries, list) else []
    return {key(entry["name"]): entry for entry in listed if isinstance(entry, Mapping) and entry.get("name")}


def _change(old: str, new: str) -> tuple[Words, Words] | None:
    """The old and the new words in which two texts differ, from the first difference to the last.

    None if the texts are equal, if words were only added or removed, or if the old words are too short to count.
    """
    one, other = words_of(old), words_of(new)
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


def still_says(quote: str, change: tuple[Words, Words]) -> bool:
    """Whether a passage has the old expression, possibly in other forms of its words, and not the new one."""
    words = words_of(quote)
    return find_words(words, change[0], is_form_of) is not None and find_words(words, change[1]) is None


def find_words(words: Words, expression: Words, is_same: Callable[[str, str], bool] = eq) -> int | None:
    places = range(len(words) - len(expression) + 1)
    return next((at for at in places if all(map(is_same, words[at : at + len(expression)], expression))), None)


def words_of(text: str) -> Words:
    return tuple(word.casefold() for word in _WORD.findall(text))


def _replaced(text: str, place: int, count: int, new: Words) -> str:
    found = list(_WORD.finditer(text))[place : place + count]
    joint = "" if all(map(_BY_CHARACTER.match, new)) else " "
    return text[: found[0].start()] + joint.join(new) + text[found[-1].end() :]
