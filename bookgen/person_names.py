"""Random names of people by language, chosen from Faker's lists so that few books share a name.

Names are dealt like cards from a shuffled pack: every name of a list is used once before any is used again. So no name
is in more than twenty of a thousand books. With independent random choices, a name from a list of 65 would be in about
one book in thirty.

Faker is imported when the first name is needed. The import takes about half a second, so callers on the event loop deal
names in a thread.
"""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

# The fewest books in a round, in which each name of a list is dealt once. So a thousand books are in at most 20 rounds,
# and no name is dealt to more than 20 of them.
BOOKS_A_NAME = 53
POOL_A_NAME = 150  # a book is offered one name for every so many in a list, and at least one

# Faker's locales whose names are used for a language.
REGIONS = {
    "ar": ("ar_AA",),
    "bg": ("bg_BG",),
    "cs": ("cs_CZ",),
    "da": ("da_DK",),
    "de": ("de_DE", "de_AT"),
    "el": ("el_GR",),
    "en": ("en_GB", "en_IE", "en_US"),
    "es": ("es_ES", "es_MX", "es_AR", "es_CO", "es_CL"),
    "fi": ("fi_FI",),
    "fr": ("fr_FR", "fr_BE", "fr_CH", "fr_CA"),
    "he": ("he_IL",),
    "hi": ("hi_IN",),
    "hr": ("hr_HR",),
    "hu": ("hu_HU",),
    "it": ("it_IT",),
    "ja": ("ja_JP",),
    "ko": ("ko_KR",),
    "nb": ("no_NO",),
    "nl": ("nl_NL", "nl_BE"),
    "no": ("no_NO",),
    "pl": ("pl_PL",),
    "pt": ("pt_PT", "pt_BR"),
    "ro": ("ro_RO",),
    "ru": ("ru_RU",),
    "sk": ("sk_SK",),
    "sl": ("sl_SI",),
    "sv": ("sv_SE",),
    "tr": ("tr_TR",),
    "uk": ("uk_UA",),
    "vi": ("vi_VN",),
    "zh": ("zh_CN", "zh_TW"),
    "zh-hant": ("zh_TW", "zh_CN"),
    "zh-tw": ("zh_TW", "zh_CN"),
}
# Character sets that have the characters of one Chinese script and hardly any of the other's.
SCRIPTS = {"zh": "gb2312", "zh-hant": "big5", "zh-tw": "big5"}
# What Faker calls its lists of surnames. If a locale has several, the first is used.
SURNAMES = ("last_names_male", "unisex_last_names", "last_names")


@dataclass(frozen=True, slots=True)
class PersonNames:
    """Given names of women, given names of men, and surnames. A list has no duplicates, and may be empty."""

    women: tuple[str, ...] = ()
    men: tuple[str, ...] = ()
    surnames: tuple[str, ...] = ()


@cache
def pool(tag: str) -> PersonNames:
    """All names that Faker has for the language with this BCP 47 tag, sorted; empty if Faker has none.

    No name is in two of the lists: names for both women and men, and surnames that are also given names, are left out.
    """
    tag = tag.lower().replace("_", "-")
    entry = tag if tag in REGIONS else tag.split("-")[0]
    providers = [importlib.import_module(f"faker.providers.person.{each}").Provider for each in REGIONS.get(entry, ())]
    women, men = (
        {name for name in _union(providers, f"first_names_{sex}") if " " not in name} for sex in ("female", "male")
    )
    surnames = next(filter(None, (_union(providers, name) for name in SURNAMES)), set()) - women - men
    script = SCRIPTS.get(entry, "utf-8")
    return PersonNames(*(_sorted(each, script) for each in (women - men, men - women, surnames)))


def deal(tag: str, turn: int, each: int) -> PersonNames:
    """Deal up to `each` given names of women, up to `each` of men, and up to twice as many surnames to a book.

    `turn`: a number for the book, such as a counter. Books with consecutive numbers get different names until a list is
    used up. A short list gives a book at most one name. A list with fewer than `BOOKS_A_NAME` names gives some books
    none.
    """
    names = pool(tag)
    hands = ((names.women, each), (names.men, each), (names.surnames, each * 2))
    return PersonNames(*(_hand(pack, turn, f"{tag}\0{at}", most) for at, (pack, most) in enumerate(hands)))


def is_womans(name: str, tag: str) -> bool | None:
    """Whether the given name is a woman's: True, False for a man's, or None if neither list has the name."""
    names = pool(tag)
    return True if name in names.women else False if name in names.men else None


def _union(providers: Iterable[Any], name: str) -> set[str]:
    """The names in all lists called `name` of the providers, without entries that are spelt like ordinary words.

    The American list has "Mcbride" where the others have "McBride", so such entries are corrected.
    """
    found = (getattr(each, name, ()) for each in providers)
    lists = (names for names in found if isinstance(names, Collection))
    spelt = (entry for names in lists for entry in names if _is_spelt_as_name(entry))
    return {re.sub("^Mc[a-z]", lambda found: f"Mc{found[0][2].upper()}", entry) for entry in spelt}


def _is_spelt_as_name(entry: str) -> bool:
    return all(word[:1] == word[:1].upper() and not word.endswith(".") for word in entry.split())


def _sorted(names: Iterable[str], script: str) -> tuple[str, ...]:
    """Those of the names that can be written in the character set `script`, sorted."""
    return tuple(sorted(name for name in names if name.encode(script, "ignore").decode(script) == name))


def _hand(names: Sequence[str], turn: int, pack: str, most: int) -> tuple[str, ...]:
    """Deal up to `most` names to a book. `turn`: the book's number. `pack`: names the list and seeds its shuffling.

    When all names have been dealt, they are shuffled again. A short list is filled up with blanks, so some books get no
    name.
    """
    count = min(most, max(len(names) // POOL_A_NAME, 1))
    cards = [*names, *[""] * (BOOKS_A_NAME - len(names))] if names else [""]
    hands = len(cards) // count
    shuffled = random.Random(f"{pack}\0{turn // hands}").sample(cards, len(cards))
    start = turn % hands * count
    return tuple(filter(None, shuffled[start : start + count]))
