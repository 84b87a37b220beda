"""Sample outlines: titles, summaries and a story bible, which describes the people, places and things of the book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.cast import Cast
from bookgen.providers.sample.grammar import Grammar


def outline_chapters(brief: Brief, bank: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all chapters of the book. The list is the same no matter which chapters are requested."""
    count = max(brief.number("chapter_count", 1), brief.number("last", 1))
    cast, lists = Cast.of(brief, bank), bank["outline"]
    kind = "_nonfiction" if brief.nonfiction and "title_nonfiction" in lists else ""
    cases = {"case": bank["nonfiction"]["slots"]["case"]} if kind else {}
    grammar = Grammar({**lists, **cases}, brief.book_rng(f"outline {brief.fields.get('seed', '')}"))
    titles: list[str] = []
    summaries: list[str] = []
    chapters = []
    for number in range(1, count + 1):
        title, words = _title(grammar, lists[f"title{kind}"], titles)
        titles.append(title)
        summary = _unlike(grammar, "summary", lists[f"summary{kind}"], words | _words(cast, number), summaries)
        summaries.append(summary)
        chapters.append({"number": number, "chapter_number": number, "title": title, "summary": summary})
    return chapters


def _words(cast: Cast, number: int) -> dict[str, str]:
    """Return the words to fill in for a chapter: the hero, a friend, a place and a thing.

    The hero is always the same; the others change from chapter to chapter.
    """
    return {
        "hero": cast.people[0].split()[0],
        "friend": cast.people[1 + number % (len(cast.people) - 1)].split()[0],
        "place": cast.places[number % len(cast.places)],
        "thing": cast.things[number % len(cast.things)],
    }


def _title(grammar: Grammar, templates: list[str], taken: list[str]) -> tuple[str, dict[str, str]]:
    title = _unlike(grammar, "title", templates, {}, taken)
    aim = next((value for name, value in grammar.picked if name == "aim"), "")
    return title, {"aim_low": aim.lower()} if aim else {}


def _unlike(grammar: Grammar, name: str, templates: list[str], words: Mapping[str, str], taken: list[str]) -> str:
    """Return a sentence from `templates` that is not in `taken`.

    If 200 tries find none, return the last sentence with a number added.
    """
    for _ in range(200):
        grammar.begin()
        sentence = grammar.sentence(name, templates, words)
        if sentence not in taken:
            break
    else:
        sentence = f"{sentence} ({len(taken) + 1})"
    grammar.keep()
    return sentence


def bible(brief: Brief, bank: Mapping[str, Any]) -> dict[str, Any]:
    cast, lists = Cast.of(brief, bank), bank["outline"]
    kind = "_nonfiction" if brief.nonfiction and "title_nonfiction" in lists else ""
    words = {"title": brief.title, **_words(cast, 0)}
    grammar = Grammar(lists, brief.book_rng("bible"))
    named = {} if kind else _named(cast, brief.book_rng("roles").sample(lists["role"], len(lists["role"])))
    return {
        "premise": grammar.sentence("premise", [lists[f"premise{kind}"]], words),
        "voice": lists[f"voice{kind}"],
        "arc": [grammar.sentence("arc", [sentence], words) for sentence in lists[f"arc{kind}"]],
        **named,
    }


def _named(cast: Cast, roles: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """Return the lists of the story bible: people with their roles, some places, and some things (as terms)."""
    return {
        "people": [
            {"name": name, "role": role, "description": role} for name, role in zip(cast.people, roles, strict=False)
        ],
        "places": [{"name": place, "description": place} for place in cast.places[:4]],
        "terms": [{"name": thing, "term": thing, "description": thing} for thing in cast.things[:3]],
    }
