"""Sample picture books: a walk from home and back, with a place and an event per spread (two facing pages)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bookgen import person_names
from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.phrases import language_of
from bookgen.words import count_words

# In the order of the phrase lists, but in English, because pictures are painted from these words.
PLACES = ("meadow", "forest", "river", "garden", "beach", "town", "mountains", "snow")
EVENTS = ("a balloon, walking", "a kite, running", "a ball, jumping", "a butterfly, walking", "a rainbow, waving",
          "walking", "jumping", "waving hello", "looking and searching")  # fmt: skip
HOURS = ("in the morning", "by day", "by day", "in the evening")
FRAME = 4  # spreads without a stop of the walk: the first two and the last two
SLACK = 1.2  # times the requested number of words, at most


@dataclass(frozen=True, slots=True)
class _SpreadContent:
    """A spread: its title, what happens, its sentences, the prompt for its picture, and the picture's alt text."""

    title: str
    summary: str
    sentences: Sequence[str]
    picture: str
    alt: str


def plan(brief: Brief, bank: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a picture book: its story bible, and its spreads as chapters."""
    lists, cast = bank["picture_book"], _cast(brief, bank)
    hero, friend = (name for name, _ in cast[:2])
    words = {"hero": hero, "friend": friend, "title": brief.title}
    count = brief.number("last", brief.number("chapter_count", 1))
    spreads = [_spread(brief, bank, number, count) for number in range(1, count + 1)]
    bible = {
        "premise": lists["premise"].format(**words),
        "voice": lists["voice"],
        "arc": [each.format(**words) for each in lists["arc"]],
        "people": [{"name": name, "description": look} for name, look in cast],
        "places": [{"name": each, "description": each} for each in lists["places"][:3]],
        "terms": [],
    }
    chapters = {
        f"chapter_{number}": {"number": number, "title": each.title, "summary": each.summary}
        for number, each in enumerate(spreads, 1)
    }
    return {"bible": bible, **bible, "chapters": chapters}


def spread(brief: Brief, bank: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requested spread: its text, the prompt for its picture, and the picture's alt text."""
    number = brief.number("chapter_number", 1)
    told = _spread(brief, bank, number, brief.number("spreads", number))
    lines: list[str] = []
    words = brief.number("words", 30)
    for sentence in told.sentences:
        if lines and count_words("\n".join([*lines, sentence])) > words * SLACK:
            break
        lines.append(sentence)
    if number == 1:
        lines.append(f"*{bank['picture_book']['note']}*")
    return {"text": "\n".join(lines), "picture": told.picture, "alt": told.alt}


def _spread(brief: Brief, bank: Mapping[str, Any], number: int, count: int) -> _SpreadContent:
    lists, cast = bank["picture_book"], _cast(brief, bank)
    hero, friend = (name for name, _ in cast[:2])
    words = {"hero": hero, "friend": friend}
    parts = {
        1: ("opening", "garden in the morning, waving hello"),
        2: ("setting_out", "meadow in the morning, walking"),
    }
    ends = {count - 1: ("found", "town in the evening, jumping"), count: ("home", "bedroom at night, sleeping")}
    name, scene = (ends.get(number) or parts.get(number) or ("", "")) if count >= FRAME else (parts | ends)[number]
    if name:
        part = lists[name]
        who = hero if name in ("opening", "home") else f"{hero} and {friend}"
        return _filled(part["title"], part["sentences"], f"{who} in the {scene}", part["alt"], words)
    station = number - 3
    rng = brief.book_rng("walk")
    place = rng.sample(range(len(PLACES)), len(PLACES))[station % len(PLACES)]
    event = rng.sample(range(len(EVENTS)), len(EVENTS))[station % len(EVENTS)]
    happens = lists["events"][event]
    hour = HOURS[(number - 1) * len(HOURS) // count]
    sentences = [f"{lists['come'][station % len(lists['come'])]}", *happens["sentences"], lists["refrain"]]
    words |= {"place": lists["places"][place], "thing": happens["thing"]}
    picture = f"{hero} and {friend} in the {PLACES[place]} {hour}, {EVENTS[event]}"
    return _filled(happens["title"], sentences, picture, lists["alt"], words)


def _filled(title: str, sentences: Sequence[str], picture: str, alt: str, words: Mapping[str, str]) -> _SpreadContent:
    said = [_capital(each.format(**words)) for each in sentences]
    return _SpreadContent(title.format(**words), " ".join(said[:2]), said, picture, alt.format(**words))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cast(brief: Brief, bank: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the book's characters as pairs of a name and a look, the hero first.

    They are the characters that the author has named. If there are fewer than two, invented characters are added.
    """
    given = brief.fields.get("characters", ())
    named = [(each.get("name", "").strip(), each.get("description", "").strip()) for each in given]
    spare = _invented(brief, bank["picture_book"]["figures"])
    known: list[tuple[str, str]] = []
    for at, (name, look) in enumerate(named):
        known.append((name or spare[at % len(spare)][0], look or _look_of(name, spare[at % len(spare)][1])))
    taken = {name for name, _ in known}
    return (known + [each for each in spare if each[0] not in taken])[: max(2, len(known))]


def _invented(brief: Brief, figures: Sequence[str]) -> list[tuple[str, str]]:
    """Return invented characters as pairs of a short name and a look, in an order picked for the book.

    `figures`: the looks to use. A look that begins with "she:" gets a girl's name, and one that begins with "he:" a
    boy's name.
    """
    drawn = person_names.deal(
        language_of(brief.text("language", "en")), brief.book_rng("names").getrandbits(32), len(figures)
    )
    women, men = (sorted(each, key=len, reverse=True) for each in (drawn.women, drawn.men))
    found = []
    for at, figure in enumerate(brief.book_rng("figures").sample(figures, len(figures))):
        who, _, look = figure.rpartition(":")
        queue = women if who == "she" or (not who and at % 2 and women) or not men else men
        if queue:
            found.append((queue.pop(), look))
    return found


def _look_of(name: str, otherwise: str) -> str:
    """Return the look of a character that has no description.

    A name of several words, such as "Mia the mouse", is used as the look. For a name of one word, the look is
    `otherwise`.
    """
    return name if " " in name else otherwise
