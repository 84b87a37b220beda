"""The people, places and things of a sample book, the same in every chapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from bookgen import person_names
from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.phrases import language_of

INVENTED = 5  # people, at most


@dataclass(frozen=True, slots=True)
class Cast:
    people: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    pronouns: Mapping[str, tuple[str, str, str]]

    @classmethod
    def of(cls, brief: Brief, bank: Mapping[str, Any]) -> Cast:
        language, rng = language_of(brief.text("language", "en")), brief.book_rng("cast")
        people = tuple(brief.people)
        if len(people) < 2:
            people += invented(language, rng)[: INVENTED if not people else 2]
        palette = bank["palette"].get(brief.palette, bank["palette"]["default"])
        pronouns = {name: _pronouns(name, language, bank) for name in people}
        return cls(people, _shuffled(palette["places"], rng), _shuffled(palette["things"], rng), pronouns)


def _shuffled(values: list[str], rng: Random) -> tuple[str, ...]:
    return tuple(rng.sample(values, len(values)))


def invented(language: str, rng: Random) -> tuple[str, ...]:
    """Return up to INVENTED names of people. No two people share a given name or a surname."""
    drawn = person_names.deal(language, rng.getrandbits(32), INVENTED // 2 + 1)
    given = _shuffled([*drawn.women, *drawn.men], rng)
    return tuple(f"{name} {surname}" for name, surname in zip(given, drawn.surnames, strict=False))[:INVENTED]


def _pronouns(name: str, language: str, bank: Mapping[str, Any]) -> tuple[str, str, str]:
    first = name.split()[0]
    known = person_names.is_womans(first, language)
    is_she = first[-1:].lower() in "aeiy" if known is None else known
    subject, object_, possessive = bank["people"]["pronouns"]["she" if is_she else "he"]
    return subject, object_, possessive
