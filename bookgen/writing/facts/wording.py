"""Compare the words of two facts, to tell whether they say the same thing. The language need not be known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import takewhile

MIN_STEM, MAX_ENDING = 5, 4  # letters that two forms of a word share, and letters of their different endings

_DOT = "\u0307"  # part of the lower case of the Turkish capital İ
# Vowel signs and points, which `re` does not treat as letters: Hebrew, Arabic, Indian scripts, Thai.
SIGNS = (
    r"\u0300-\u036f\u0591-\u05bd\u05c1\u05c2\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
_MARKS = re.compile(rf"[^\w\s{SIGNS}]+")
_WORDS = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")


def key(text: str) -> str:
    """The form in which names and values are compared: NFKC, in lower case, without punctuation."""
    small = unicodedata.normalize("NFKC", text).casefold().replace(_DOT, "")
    return " ".join(_MARKS.sub(" ", small).split())


def is_form_of(one: str, other: str) -> bool:
    """Whether two words are equal or may be forms of one word, such as "harbour" and "harbours".

    Forms consist of letters only, start with the same letters, and differ in a short ending.
    """
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    is_near = shared >= MIN_STEM and max(len(one), len(other)) - shared <= MAX_ENDING
    return one == other or (is_near and one.isalpha() and other.isalpha())


def says_the_same(one: str, other: str) -> bool:
    """Whether two clauses have the same words in any order: "today it rains" and "it rains today"."""
    return sorted(one.split()) == sorted(other.split())


def lies_in(place: str, around: str, *, nouns_are_capitalised: bool = False) -> bool:
    """Whether `place` names something inside `around`: "a café in Trieste" is inside "Trieste".

    `around` must be a proper name, recognised by its capitals: "Ada's house" need not be inside "the house". If the
    language writes all nouns with capitals, a proper name of a single word cannot be recognised, so the result is
    False.
    """
    if _EAST_ASIAN.fullmatch(around):
        return re.match(rf"{around}[の的]", place) is not None
    name = _WORDS.findall(around)
    if len(name) > 1 and not name[0][:1].isupper():
        name = name[1:]  # an article
    if not name or not all(word[:1].isupper() for word in name) or (nouns_are_capitalised and len(name) == 1):
        return False
    words = list(_WORDS.finditer(place))
    return any(
        all(is_form_of(key(word[0]), key(part)) for word, part in zip(words[at:], name, strict=False))
        and _is_a_part(place, words, at, at + len(name))
        for at in range(len(words) - len(name) + 1)
    )


def _is_a_part(place: str, words: Sequence[re.Match[str]], start: int, end: int) -> bool:
    """Whether `place` names a part of the place called `words[start:end]`, and not another place with a longer name.

    The words beside that name decide: "the harbour of Trieste" is a part of Trieste, "Trieste Street" is a different
    name.
    """
    after = words[end][0] if end < len(words) else ""
    if after[:1].isupper() and "," not in place[words[end - 1].end() : words[end].start()]:
        return False
    return bool(after) or (start > 0 and words[start - 1][0][:1].islower())
