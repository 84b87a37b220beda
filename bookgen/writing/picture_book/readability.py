"""Checks whether a spread's text suits its readers' age: sentence length, amount of text, how common its words are.

Word frequencies come from the library wordfreq, whose lists cover subtitles, books, news and conversation. Words are
not checked in languages that have no list, or whose list needs a tokenizer that is not installed (Chinese, Japanese,
Korean).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from bookgen.words import count_words
from bookgen.writing import sentences
from bookgen.writing.language import language as prose_language
from bookgen.writing.language import primary
from bookgen.writing.material import Finding
from bookgen.writing.picture_book.ages import AgeLimits
from bookgen.writing.text_units import units

TOO_MUCH = 1.5  # times the usual words of a spread
MIN_WORDS = 6  # of a text; in a shorter one the share of rare words means nothing
SHOWN = 6
UNSPACED_SENTENCE = 1.6  # in scripts where a character counts as a word, sentences have more words
_NEEDS_A_TOKENIZER = frozenset({"zh", "ja", "ko"})
_MIN_LETTERS = 3


def difficulties(text: str, limits: AgeLimits, language: str, known: Iterable[str]) -> list[Finding]:
    """What makes `text` too hard: long sentences, rare words, then too much text.

    The kinds of the findings are `sentence_length`, `vocabulary` and `text_length`. `known`: texts whose words always
    count as known.
    """
    found = [*_long_sentences(text, limits, language), *_rare_words(text, limits, language, known)]
    words = count_words(text)
    if words > limits.words * TOO_MUCH:
        counted = prose_language(language).counted
        detail = f"The text has {words} {counted}; about {limits.words} suit this age."
        found.append(Finding("text_length", text[:200], detail))
    return found


def _long_sentences(text: str, limits: AgeLimits, language: str) -> list[Finding]:
    most = limits.longest * (UNSPACED_SENTENCE if primary(language) in ("zh", "ja") else 1)
    unit = prose_language(language).counted
    counted = ((count_words(each), each) for each in sentences.split(text))
    return [
        Finding("sentence_length", each[:200], f"This sentence has {words} {unit}; at most {most:g} suit this age.")
        for words, each in sorted(counted, reverse=True)
        if words > most
    ]


def _rare_words(text: str, limits: AgeLimits, language: str, known: Iterable[str]) -> list[Finding]:
    list_language = _language_of_list(language)
    said = [unit for unit in units(text) if len(unit) >= _MIN_LETTERS]
    if not list_language or len(said) < MIN_WORDS:
        return []
    excused = {unit for each in known for unit in units(each)}
    rare = [unit for unit in said if not _is_known(unit, list_language, limits.common, excused)]
    if len(rare) <= len(said) * limits.new:
        return []
    shown = ", ".join(sorted(set(rare), key=rare.index)[:SHOWN])
    return [Finding("vocabulary", shown, f"{len(rare)} of {len(said)} words are too rare for this age: {shown}.")]


def _is_known(unit: str, list_language: str, common: float, excused: set[str]) -> bool:
    """Whether a word is frequent enough or begins with an excused word. "Ada's" begins with "Ada".

    `list_language`: the language of the frequency list. `common`: the lowest Zipf frequency of known words.
    """
    if unit in excused or any(len(each) >= _MIN_LETTERS and unit.startswith(each) for each in excused):
        return True
    return _frequency(unit, list_language) >= common


# Importing wordfreq takes a quarter of the service's import time, and only picture books need it.
@lru_cache(maxsize=20_000)
def _frequency(unit: str, list_language: str) -> float:
    import wordfreq

    return float(wordfreq.zipf_frequency(unit, list_language, wordlist="small"))


@lru_cache
def _language_of_list(language: str) -> str:
    """The language code of the word frequency list for `language`; empty if there is no usable list."""
    import wordfreq

    code = primary(language)
    return code if code in wordfreq.available_languages("small") and code not in _NEEDS_A_TOKENIZER else ""
