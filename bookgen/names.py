"""Names of people by language, drawn evenly from the lists of Faker.

Faker is imported only when a name is drawn: that takes about half a second, once in a process, so callers on the event
loop draw in a thread.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

POOL_A_NAME = 150  # names of a list for each one that is drawn from it, so that chance takes none to 2 % of the books
MIN_POOL = 50  # given names of a list: one is drawn from it, and comes to 2 % on average

# The regions whose names a language has. Not here: languages for which Faker has few names, as ja and vi.
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
    "zh": ("zh_CN",),
    "zh-hant": ("zh_TW",),
    "zh-tw": ("zh_TW",),
}


@dataclass(frozen=True, slots=True)
class PersonNames:
    """Given names of women and of men, and surnames. Sorted, each once; any of them may be empty."""

    women: tuple[str, ...] = ()
    men: tuple[str, ...] = ()
    surnames: tuple[str, ...] = ()


@cache
def pool(tag: str) -> PersonNames:
    """All names of a language; none if Faker has none.

    No name is in two of the lists. Names for both women and men, and surnames that are also given names, are left out.
    """
    tag = tag.lower().replace("_", "-")
    regions = REGIONS.get(tag) or REGIONS.get(tag.split("-")[0], ())
    providers = [importlib.import_module(f"faker.providers.person.{region}").Provider for region in regions]
    women, men = (
        {name for name in _union(providers, f"first_names_{sex}") if " " not in name} for sex in ("female", "male")
    )
    surnames = (_union(providers, "last_names_male") or _union(providers, "last_names")) - women - men
    return PersonNames(*(tuple(sorted(each)) for each in (women - men, men - women, surnames)))


def draw(tag: str, rng: random.Random, each: int) -> PersonNames:
    """Up to `each` given names of women and as many of men, and twice as many surnames, each once.

    From a short list fewer are drawn: one given name, no surname.
    """
    names = pool(tag)
    women, men = (_some(given, rng, each) for given in (names.women, names.men))
    return PersonNames(women, men, _some(names.surnames, rng, each * 2, POOL_A_NAME))


def is_womans(name: str, tag: str) -> bool | None:
    """Whether the given name is a woman's; None if it is in neither list."""
    names = pool(tag)
    return True if name in names.women else False if name in names.men else None


def _union(providers: Iterable[Any], name: str) -> set[str]:
    """The common names of the lists, without entries that are spelt like ordinary words."""
    found = (getattr(each, name, ()) for each in providers)
    lists = (names for names in found if isinstance(names, Collection))
    return {entry for names in lists for entry in names if _is_spelt_as_name(entry)}


def _is_spelt_as_name(entry: str) -> bool:
    return all(word[:1] == word[:1].upper() and not word.endswith(".") for word in entry.split())


def _some(names: tuple[str, ...], rng: random.Random, most: int, shortest: int = MIN_POOL) -> tuple[str, ...]:
    count = min(most, max(len(names) // POOL_A_NAME, 1)) if len(names) >= shortest else 0
    return tuple(rng.sample(names, count))
