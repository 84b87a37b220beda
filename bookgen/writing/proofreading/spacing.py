"""Spaces and marks that no language sets so: doubled spaces, a space before a comma, none after it, doubled marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import ChapterText
from bookgen.writing.proofreading.correction import Correction

_UNSPACED = ("zh", "ja", "th", "lo", "km", "my")
_SPACED_MARKS = ("fr",)  # a space before ; : ! ? is right there

_WORD_BEFORE = r"(?P<word>[^\W_]+[\"”’»)\]]?)"
_RUN_OF_SPACES = re.compile(r"(?P<before>[^\s\0]+) {2,}(?P<after>[^\s\0|]+)")
_SPACE_BEFORE = re.compile(rf"{_WORD_BEFORE} +(?P<mark>[,;:!?]|\.(?![.\w]))(?=[\s\"”’»)]|\Z)")
_SPACE_BEFORE_COMMA = re.compile(rf"{_WORD_BEFORE} +(?P<mark>,|\.(?![.\w]))(?=[\s\"”’»)]|\Z)")
_NONE_AFTER = re.compile(r"(?P<before>[^\W\d_]{2,})(?P<mark>[,;!?،؛؟])(?P<after>[^\W\d_]{2,})")
_NONE_AFTER_STOP = re.compile(r"(?<![\w.@/])(?P<before>[^\W\d_A-Z]{3,})\.(?P<after>[^\W\d_a-z][^\W\d_A-Z]+)(?![\w.@/])")
_DOUBLED = re.compile(r"(?P<word>[^\W_]+)(?P<mark>[,;:،])(?P=mark)(?=\s)|(?P<last>[^\W_]+)(?<!\.)\.\.(?=\s|\Z)")


def corrections(text: ChapterText) -> Iterator[Correction]:
    for match in _RUN_OF_SPACES.finditer(text.prose):
        yield _correction(text, match, f"{match['before']} {match['after']}", "One space is enough.")
    if text.primary in _UNSPACED:
        return
    before = _SPACE_BEFORE_COMMA if text.primary in _SPACED_MARKS else _SPACE_BEFORE
    for match in before.finditer(text.prose):
        yield _correction(text, match, f"{match['word']}{match['mark']}", "No space stands before this mark.")
    for match in _NONE_AFTER.finditer(text.prose):
        fixed = f"{match['before']}{match['mark']} {match['after']}"
        yield _correction(text, match, fixed, "A space is missing after this mark.")
    for match in _NONE_AFTER_STOP.finditer(text.prose):
        if match["after"][0].isupper() and match["before"].islower():
            fixed = f"{match['before']}. {match['after']}"
            yield _correction(text, match, fixed, "A space is missing after the sentence.")
    for match in _DOUBLED.finditer(text.prose):
        fixed = f"{match['word']}{match['mark']}" if match["mark"] else f"{match['last']}."
        yield _correction(text, match, fixed, "This mark stands twice.")


def _correction(text: ChapterText, match: re.Match[str], replacement: str, explanation: str) -> Correction:
    return text.correction(
        match.start(), match.end(), replacement, SuggestionType.PUNCTUATION, Severity.MINOR, explanation, "spacing"
    )
