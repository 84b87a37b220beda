"""Finds the names and expressions of a bible in a text, also with the endings and prefixes of the language."""

from __future__ import annotations

import re
from functools import cache

# Languages in which a name gets other endings: "Ewa" is also "Ewy", "Ewie".
INFLECTED = frozenset(
    ("bg", "cs", "el", "et", "fi", "hr", "hu", "lt", "lv", "pl", "ro", "ru", "sk", "sl", "sr", "tr", "uk")
)
GENITIVE_S = frozenset(("da", "de", "en", "nb", "nl", "no", "sv"))  # "Adas", without an apostrophe
MIN_STEM, MAX_ENDING = 3, 4  # letters of an inflected name

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1780-\u17ff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_PREFIXED = {"ar": "وفبلك", "he": "והבלמשכ"}  # letters that are written onto the front of a word
_MAX_PREFIX = 3
_SPACE = r"[\s\u00a0]+"
_CLITIC = r"(?:['’]\w{1,4})?"  # "Ada's", "Ayşe'nin"
_VOWELS = "aeiouyáéíóúàèìòùäöüåøæąęůěаеёиоуыэюяіїєαειουωήάέίόύώıâîûăț"


@cache
def pattern(expression: str, language: str, *, is_name: bool = False) -> re.Pattern[str]:
    """A pattern that finds an expression, also with the common endings or prefixes of some languages.

    A name is only found with the same capitals.
    """
    flags = 0 if is_name else re.IGNORECASE
    if _UNSPACED.search(expression):
        return re.compile(re.escape(expression), flags)
    words = expression.split()
    if _HANGUL.search(expression):
        return re.compile(rf"(?<!\w){_SPACE.join(map(re.escape, words))}\w{{0,3}}(?!\w)", flags)
    if letters := _PREFIXED.get(language):
        spelt = _SPACE.join(map(re.escape, words))
        return re.compile(rf"(?<!\w)[{letters}]{{0,{_MAX_PREFIX}}}{spelt}(?!\w)", flags)
    forms = [_forms(word, language) if is_name else re.escape(word) for word in words]
    return re.compile(rf"(?<!\w){_SPACE.join(forms)}{_CLITIC}(?!\w)", flags)


def _forms(word: str, language: str) -> str:
    if language in GENITIVE_S:
        return rf"{re.escape(word)}s?"
    if language not in INFLECTED or len(stem_of(word)) < MIN_STEM:
        return re.escape(word)
    return rf"{re.escape(stem_of(word))}\w{{0,{MAX_ENDING}}}"


def stem_of(word: str) -> str:
    """The beginning that all forms of a name share: the name without a vowel at its end."""
    return word[:-1] if word[-1:].lower() in _VOWELS else word


def may_be_forms_of_one(one: str, other: str, language: str) -> bool:
    """Whether some form may belong to both names, so that it is unclear which of them a text means."""
    if language not in INFLECTED:
        return False
    first, second = sorted((stem_of(one).lower(), stem_of(other).lower()), key=len)
    return second.startswith(first[: max(len(first) - 1, MIN_STEM)])
