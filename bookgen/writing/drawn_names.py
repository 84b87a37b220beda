"""Draws names, trades and towns for a story, because models always think of the same few.

Of 20,000 stories by models, 88 % contained words from a list of eleven: lighthouse, keeper, clockmaker, Elara … (arXiv
2605.26492). A higher temperature or a ban on these words hardly changes that. Names that code draws at random do.
"""

from __future__ import annotations

import hashlib
import importlib
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

from bookgen import person_names
from bookgen.models import Book, BookKind, has_separate_stories, story_kind
from bookgen.threads import compute
from bookgen.words import count_words
from bookgen.writing import context
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.language import primary

NAMES_EACH, TRADES, TOWNS = 4, 3, 2
STORIES_A_HAND, MAX_HANDS = 2, 6  # the lists of a collection are as long as those of so many books
SHORT_IDEA = 60  # words; a longer idea has its own place and subject
MIN_TOWNS = 20  # in a language with fewer, none is drawn
PREMISES, PREMISES_WORDS = 5, 200  # the number of premises, and their maximum words
FIRST_UNLIKELY = 3  # only premises from this number on may be chosen, since models propose the likely ones first

GIVEN = """
{drawn}, so that its names and trades are not the ones that come to mind first. Anything that the idea names or the \
author has settled takes precedence, and a story set in another time, region or world takes from the list only what \
fits it.
{lines}
"""
NAMES_OPEN = "- Names to choose from for people who have none yet: {names}."
TRADES_OPEN = "- If it is open what somebody does for a living, choose from: {trades}."
TOWNS_OPEN = "- If it is open where the story is set: in or near {towns}, or in a place of that kind."
STORY_TOWNS_OPEN = (
    "- If it is open where a story is set: in or near {towns}, or in a place of that kind; each elsewhere."
)
DRAWN = "Drawn by lot for this story"
DRAWN_FOR_STORIES = "Drawn by lot for the stories, each of which takes others"
DRAWN_FOR_FICTION = "If this is fiction: drawn by lot for it"

ASKED_PREMISES = """
The idea is short, and many books fit it. First, under "premises", write {count} premises of one sentence each for \
books that differ in who wants what and what stands in the way: the one that an author would most likely think of \
first, then less and less likely ones, each with its probability between 0 and 1. Plan number {chosen} of them: the \
premise of the bible is that one, worked out.
"""

# The countries of a language's towns: the same as those of its names. Only languages in Latin letters, because Faker
# spells these towns in no other script.
_COUNTRIES = {
    "de": "DE AT",
    "en": "GB IE US",
    "es": "ES MX AR CO CL",
    "fr": "FR BE CH",
    "it": "IT",
    "pt": "BR PT",
}
# Faker's lists of towns in a language's own script: the locale and the name of the list.
_OWN_SCRIPT = {
    "ja": ("ja_JP", "cities"),
    "ru": ("ru_RU", "city_names"),
    "zh": ("zh_CN", "cities"),
    "zh-hant": ("zh_TW", "cities"),
    "zh-tw": ("zh_TW", "cities"),
}
_PLAIN_NAME = re.compile(r"[\w -]+")  # without the region in brackets that some entries have
_TRADES = {
    "cs": "cs_CZ",
    "da": "da_DK",
    "de": "de_AT",
    "el": "el_GR",
    "en": "en_US",
    "es": "es_ES",
    "fr": "fr_FR",
    "hu": "hu_HU",
    "ko": "ko_KR",
    "pl": "pl_PL",
    "pt": "pt_BR",
    "ro": "ro_RO",
    "ru": "ru_RU",
    "tr": "tr_TR",
    "zh": "zh_CN",
}


async def names_prompt(book: Book) -> str:
    """The part of the outline request with the drawn names, trades and towns; empty if the book is not a story."""
    return await compute(drawn, book) if _kind(book) in ("fiction", "children", "") else ""


def asks_for_premises(book: Book) -> bool:
    """Whether the outline starts from one of several premises: one story with a short idea and no settled premise."""
    is_one_story = _kind(book) == "fiction" and not has_separate_stories(book)
    return is_one_story and _is_open(book) and not book.authored_bible.get("premise")


def premises(book: Book) -> str:
    """The part of the outline request that asks for several premises and says which of the less likely ones to use.

    The one to use is chosen at random.
    """
    chosen = _rng(book, "premise").randint(FIRST_UNLIKELY, PREMISES)
    return ASKED_PREMISES.format(count=PREMISES, chosen=chosen)


def _kind(book: Book) -> str:
    return "children" if book.kind is BookKind.CHILDRENS else story_kind(book)


def _is_open(book: Book) -> bool:
    return count_words(f"{book.description} {book.theme}") < SHORT_IDEA


def _rng(book: Book, purpose: str) -> random.Random:
    """A random generator, seeded the same for all requests about this outline and differently for a new outline."""
    before = content_hash(context.bible(book.bible)) if book.bible else ""
    seed = f"{purpose}\0{book.id}\0{book.title}\0{before}"
    return random.Random(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest())


def drawn(book: Book) -> str:
    lines = [*_names(book), *_setting(book, _rng(book, "given"))]
    one_story = DRAWN if _kind(book) else DRAWN_FOR_FICTION
    who = DRAWN_FOR_STORIES if has_separate_stories(book) else one_story
    return GIVEN.format(drawn=who, lines="\n".join(lines)) if lines else ""


def _hands(book: Book) -> int:
    """How many times as many names, trades and towns as for one story are drawn for the book."""
    return min(-(-book.chapter_count // STORIES_A_HAND), MAX_HANDS) if has_separate_stories(book) else 1


def _names(book: Book) -> Iterator[str]:
    """Names to choose from, different for successive books.

    The book's id selects the names for a first outline, a random number for a new outline.
    """
    rng = _rng(book, "names")
    first = rng.getrandbits(32) if book.bible else book.id
    turns = [first, *(rng.getrandbits(32) for _ in range(_hands(book) - 1))]
    dealt = [person_names.deal(book.content_language, turn, NAMES_EACH) for turn in turns]
    named = []
    for who in ("women", "men", "surnames"):
        if names := dict.fromkeys(name for hand in dealt for name in getattr(hand, who)):
            named.append(f"{who}: {', '.join(names)}")
    if named:
        yield NAMES_OPEN.format(names="; ".join(named))


def _setting(book: Book, rng: random.Random) -> Iterator[str]:
    """Trades and towns for a story with a short idea; none for a children's book.

    Trades are left out if people are already settled, and towns if places are.
    """
    language, hands = primary(book.content_language), _hands(book)
    if not _is_open(book) or _kind(book) == "children":
        return
    if (found := trades(language)) and not book.authored_bible.get("people"):
        yield TRADES_OPEN.format(trades="; ".join(rng.sample(found, min(TRADES * hands, len(found)))))
    if (towns := towns_of(book.content_language)) and not book.authored_bible.get("places"):
        drawn_towns = rng.sample(towns, min(TOWNS * hands, len(towns)))
        form = STORY_TOWNS_OPEN if has_separate_stories(book) else TOWNS_OPEN
        yield form.format(towns=" or ".join(drawn_towns))


@cache
def trades(language: str) -> Sequence[str]:
    """Occupations in a language; empty if the library Faker has no list of them."""
    if language not in _TRADES:
        return ()
    provider = importlib.import_module(f"faker.providers.job.{_TRADES[language]}").Provider
    return tuple(sorted(set(provider.jobs)))


@cache
def towns_of(tag: str) -> Sequence[str]:
    """Real towns of the countries of a language, in its script; empty if the library Faker has few of them."""
    tag = tag.lower().replace("_", "-")
    if listed := _OWN_SCRIPT.get(tag) or _OWN_SCRIPT.get(primary(tag)):
        locale, name = listed
        provider = importlib.import_module(f"faker.providers.address.{locale}").Provider
        return tuple(sorted(filter(_PLAIN_NAME.fullmatch, set(getattr(provider, name)))))
    countries = _COUNTRIES.get(primary(tag), "").split()
    if not countries:
        return ()
    provider = importlib.import_module("faker.providers.geo").Provider
    towns = sorted({town for _, _, town, country, _ in provider.land_coords if country in countries})
    return tuple(towns) if len(towns) >= MIN_TOWNS else ()
