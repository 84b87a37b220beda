"""The templates of contradictions in the TOML files: sentences, each with the facts that a chapter's note has of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LISTS = ("known", "unseen", "second", "third")
IN_FULL = ("second", "third")  # lists whose templates have complete facts, with subjects
DETAIL = "detail"  # two details that do not fit together: no rule finds them, but an editor may
KINDS = (
    "dead_acts", "place_left", "gone_object", "two_places", "known_before", "two_births", "before_birth",
    "before_cause", "corrected", DETAIL,
)  # fmt: skip

SURNAME_CHARACTERS = {"ja": 2, "ko": 1, "zh": 1}  # in the names of `plant.people`

Noted = tuple[str, str, str]  # kind, subject, value


@dataclass(frozen=True, slots=True)
class ToldPassage:
    """A sentence of a chapter, and the facts that the chapter's note has of it."""

    text: str
    facts: tuple[Noted, ...]


@dataclass(frozen=True, slots=True)
class ToldContradiction:
    """Two passages that cannot both be true. If the kind is `corrected`, the second one is empty.

    `before` and `after`: what the bible said about the person before and after its author changed it.
    """

    kind: str
    list: str
    language: str
    people: tuple[str, str]
    passages: tuple[ToldPassage, ...]
    before: str = ""
    after: str = ""


def read(name: str) -> dict[str, dict[str, Any]]:
    """The templates of a file, by language."""
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


def contradiction(
    name: str, language: str, kind: str, people: tuple[str, str], fields: Sequence[str]
) -> ToldContradiction:
    """A template filled in with two people."""
    names = {"p": people[0], "q": people[1], **_parts(people[0], language)}
    earlier, *rest = (text.format(**names) for text in fields)
    if name in IN_FULL:
        return _in_full(ToldContradiction(kind, name, language, people, (ToldPassage(earlier, ()),)), rest)
    if kind == "corrected":
        value, before, after = rest
        told = ToldPassage(earlier, (("person", people[0], value),))
        return ToldContradiction(kind, name, language, people, (told,), before, after)
    later, *values = rest
    subject = names["f"] if "{f}" in fields[1] else people[0]
    first, second = _facts(kind, people, subject, values)
    return ToldContradiction(kind, name, language, people, (ToldPassage(earlier, first), ToldPassage(later, second)))


def _parts(person: str, language: str) -> dict[str, str]:
    """The first name and the surname. For a Japanese, Korean or Chinese name, the first name is the whole name."""
    if language in SURNAME_CHARACTERS:
        return {"f": person, "l": person[: SURNAME_CHARACTERS[language]]}
    return {"f": person.split()[0], "l": person.split()[-1]}


def _in_full(told: ToldContradiction, rest: Sequence[str]) -> ToldContradiction:
    earlier = told.passages[0].text
    if told.kind == "corrected":
        fact, before, after = rest
        return replace(told, passages=(ToldPassage(earlier, _noted(fact)),), before=before, after=after)
    later, first, second = rest
    return replace(told, passages=(ToldPassage(earlier, _noted(first)), ToldPassage(later, _noted(second))))


def _noted(facts: str) -> tuple[Noted, ...]:
    """Parse facts from `kind | subject | value ; kind | subject | value`."""
    entries = (tuple(part.strip() for part in fact.split("|")) for fact in facts.split(" ; "))
    return tuple((kind, subject, value) for kind, subject, value in entries)


def _facts(
    kind: str, people: tuple[str, str], subject: str, values: Sequence[str]
) -> tuple[tuple[Noted, ...], tuple[Noted, ...]]:
    """The facts of the earlier passage, and those of the later one, which calls the person `subject`."""
    p, q = people
    match kind, values:
        case "dead_acts", []:
            return (("dies", p, "so"),), (("acts", subject, "so"),)
        case "place_left", [place, again]:
            return (("leaves", p, place),), (("is_in", subject, again),)
        case "gone_object", [thing, again, where]:
            return (("gone", thing, "so"),), (("at", again, where),)
        case "two_places", [thing, again]:
            return (("acts", p, "so"), ("acts", q, "so"), ("at", thing, p)), (("at", again, q),)
        case "known_before", [what, again]:
            return (("knows", p, what),), (("learns", subject, again),)
        case "two_births", [born, again]:
            return (("born", p, born),), (("born", subject, again),)
        case "before_birth", [born, date]:
            return (("born", p, born),), (("now", "so", date), ("acts", subject, "so"))
        case "before_cause", [cause, effect, of_cause, of_effect]:
            return (("on", cause, of_cause),), (("on", effect, of_effect), ("after", effect, cause))
        case "detail", [value, other]:
            return (("person", p, value),), (("person", subject, other),)
    raise ValueError(f"{kind} has {len(values)} values")


# By kind: the fact that a note has of a sentence from honest.toml, in addition to the facts of the kind.
EXCUSES = {
    "dead_acts": ("back", "returns"),
    "place_left": ("back", "enters"),
    "gone_object": ("back", "whole"),
    "two_places": ("back", "moved"),
    "before_birth": ("back",),
}


def excused(planted: ToldContradiction, excuse: str, sentence: str) -> ToldContradiction:
    """The same contradiction, with a sentence before the later passage that makes both passages true."""
    p, q = planted.people
    subject, value = next(each[1:] for each in planted.passages[1].facts if each[0] != "now")
    said: dict[str, Noted] = {
        "back": ("back", "so", "so"),
        "returns": ("returns", subject, "so"),
        "enters": ("enters", subject, value),
        "whole": ("returns", subject, "so"),
        "moved": ("moved", subject, q),
    }
    earlier, later = planted.passages
    why = ToldPassage(sentence.format(p=p, q=q), (said[excuse],))
    return ToldContradiction(planted.kind, planted.list, planted.language, planted.people, (earlier, why, later))


def swapped(planted: ToldContradiction) -> ToldContradiction:
    """The same passages in reverse order, which is possible for a death, a loss or new knowledge."""
    earlier, later = planted.passages
    return ToldContradiction(planted.kind, planted.list, planted.language, planted.people, (later, earlier))


ORDERED = ("dead_acts", "place_left", "gone_object", "known_before")


def honest_of(planted: ToldContradiction, sentences: dict[str, str]) -> Iterator[ToldContradiction]:
    """Passages that look like the contradiction but can both be true."""
    for excuse in EXCUSES.get(planted.kind, ()):
        yield excused(planted, excuse, sentences[excuse])
    if planted.kind in ORDERED:
        yield swapped(planted)
