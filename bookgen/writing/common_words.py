"""Tells two languages of one script apart by their commonest words (`common_words.toml`)."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MIN_ENGLISH_SHARE = 0.32  # of the words must be English, if the supposed language has no list

_FILE = Path(__file__).with_name("common_words.toml")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How clearly a text must be in another language than the expected language before it is reported.

    A word counts if it is in the word list of one of the two languages but not of the other. The counted words of the
    other language must be at least the share `min_share` of all words, and more than `times` as many as the counted
    words of the expected language.
    """

    min_share: float
    times: float


def is_in_another(code: str, words: Sequence[str], thresholds: Thresholds) -> bool:
    """Whether the lower-case `words` are in another language that is written in the same script as `code`.

    If there is no word list for the language `code`, only English is recognised as another language.
    """
    counts = Counter(words)
    lists = _related(code)
    if code not in lists:
        return _count(counts, _related("en")["en"]) >= len(words) * MIN_ENGLISH_SHARE
    own = lists[code]
    for tag, theirs in lists.items():
        found = _count(counts, theirs - own) if tag != code else 0
        if found >= len(words) * thresholds.min_share and found > thresholds.times * _count(counts, own - theirs):
            return True
    return False


def _count(counts: Mapping[str, int], listed: frozenset[str]) -> int:
    return sum(counts[word] for word in listed if word in counts)


@cache
def _related(code: str) -> Mapping[str, frozenset[str]]:
    """The word lists, by language, of all languages in the script of `code`; empty if `code` has no list."""
    return next((lists for lists in _scripts() if code in lists), {})


@cache
def _scripts() -> Sequence[Mapping[str, frozenset[str]]]:
    scripts = tomllib.loads(_FILE.read_text(encoding="utf-8")).values()
    return [{tag: frozenset(words.split()) for tag, words in lists.items()} for lists in scripts]
