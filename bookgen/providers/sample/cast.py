"""Who and what a sample book is about: people, places and things, the same in every chapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bookgen.providers.sample.brief import Brief


@dataclass(frozen=True, slots=True)
class Cast:
    people: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    pronouns: Mapping[str, tuple[str, str, str]]

    @classmethod
    def of(cls, brief: Brief, bank: Mapping[str, Any]) -> Cast:
        rng = brief.book_rng("cast")
        kinds = {name: kind for name, _, kind in (entry.partition(":") for entry in bank["people"]["names"])}
        invented = rng.sample(sorted(kinds), 5)
        people = tuple(brief.people) or tuple(invented)
        if len(people) == 1:
            people += tuple(invented[:2])
        palette = bank["palette"].get(brief.palette, bank["palette"]["default"])
        pronouns = {name: _pronouns(name, kinds, bank) for name in people}
        return cls(people, _shuffled(palette["places"], rng), _shuffled(palette["things"], rng), pronouns)


def _shuffled(values: list[str], rng: Any) -> tuple[str, ...]:
    return tuple(rng.sample(values, len(values)))


def _pronouns(name: str, kinds: Mapping[str, str], bank: Mapping[str, Any]) -> tuple[str, str, str]:
    first = name.split()[0]
    known = {full.split()[0]: kind for full, kind in kinds.items()}
    kind = known.get(first) or ("she" if first[-1:].lower() in "aeiy" else "he")
    subject, object_, possessive = bank["people"]["pronouns"][kind]
    return subject, object_, possessive
