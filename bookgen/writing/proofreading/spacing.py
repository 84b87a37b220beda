"""Finds wrong spaces and punctuation in any language: two in a row, a space before a comma, no space after a comma."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction, Reason

SHARE = 0.01  # of the places with a mark: an unusual spacing this frequent is intended
SLIPS = 10  # times: up to this many may be mistakes
SHORT_ELLIPSES = 3  # if two stops occur more often, they are the author's ellipsis
ONE_LETTER = 20  # times: a single letter this frequent is a word; otherwise it is part of a formula or a scan error
SAME = 3  # times: an unusual spacing this frequent at the same words is intended

_TWO_SPACES = "Use a single space."
_BEFORE = "No space before this punctuation mark."
_MISSING = "Missing space after this punctuation mark."
_TWICE = "Repeated punctuation mark."
_TWO_STOPS = "Repeated full stop."

_UNSPACED = ("zh", "ja", "th", "lo", "km", "my")
_SPACED_MARKS = ("fr",)  # languages in which a space before ; : ! ? is correct

# Each pattern starts at the start of a word. Otherwise a very long word would be searched again from every letter.
_WORD_BEFORE = r"(?<![^\W_])(?P<word>(?P<letters>[^\W_]+)[\"”’»)\]]?)"
_AFTER_MARK = r"(?=[\s\"”’»)]|\Z)(?!\s?\.)"  # spaced stops are an ellipsis
_JOINED = re.compile(r"[^\W\d_][-'’]")  # before the last letter of "beijal-a"
_RUN_OF_SPACES = re.compile(r"(?<![^\s\0|])(?P<before>[^\s\0]+) {2,}(?P<after>[^\s\0|]+)")
_SPACE_BEFORE = re.compile(rf"{_WORD_BEFORE} +(?P<mark>[,;:!?]|\.(?![.\w])){_AFTER_MARK}")
_SPACE_BEFORE_COMMA = re.compile(rf"{_WORD_BEFORE} +(?P<mark>,|\.(?![.\w])){_AFTER_MARK}")
_NONE_AFTER = re.compile(r"(?<![^\W\d_])(?P<before>[^\W\d_]{2,})(?P<mark>[,;!?،؛؟])(?P<after>[^\W\d_]{2,})")
_TALL = ";:!?"  # a book has a space before all of these marks or before none
_NONE_AFTER_STOP = re.compile(r"(?<![\w.@/])(?P<before>[^\W\d_A-Z]{3,})\.(?P<after>[^\W\d_a-z][^\W\d_A-Z]+)(?![\w.@/])")
_DOUBLED = re.compile(r"(?<![^\W_])(?P<word>[^\W_]+)(?P<mark>[,;:،])(?P=mark)(?=\s)")
_DOUBLED_STOP = re.compile(r"(?<![^\W_])(?P<word>[^\W_]+)(?<!\.)\.\.(?=\s|\Z)(?!\s?\.)")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible correction of a space or a punctuation mark.

    `manner`: what is unusual there, such as a space before a mark. `marks`: the punctuation marks concerned. If the
    book often has the same manner with the same marks, it is intended and not corrected.
    """

    chapter_id: int
    correction: Correction
    manner: str
    marks: str


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Each correction, with the id of its chapter. What is so frequent that it must be intended is left out."""
    letters = {word for word, times in book.words.items() if len(word) == 1 and word.islower() and times >= ONE_LETTER}
    found = [each for chapter_id, text in book.texts.items() for each in _candidates(chapter_id, text, letters)]
    manners = Counter((each.manner, each.marks) for each in found)
    words = Counter(each.correction.original for each in found)
    marks = {
        mark: sum(text.prose.count(mark) for text in book.texts.values())
        for mark in set().union(*(each.marks for each in found))
    }
    for each in found:
        times, occurrences = manners[each.manner, each.marks], sum(marks[mark] for mark in each.marks)
        most = SHORT_ELLIPSES if each.manner == _TWO_STOPS else max(SLIPS, SHARE * occurrences)
        if times <= most and words[each.correction.original] < SAME:
            yield each.chapter_id, each.correction


def _candidates(chapter_id: int, text: ChapterText, letters: Collection[str]) -> Iterator[_Candidate]:
    """Possible corrections of unusual spaces around punctuation, and of doubled marks.

    `letters`: the single letters that are words.
    """

    def candidate(match: re.Match[str], replacement: str, manner: str, mark: str) -> _Candidate:
        reason = Reason(SuggestionType.PUNCTUATION, Severity.MINOR, manner, "spacing")
        fixed = text.correction(*match.span(), replacement, reason)
        return _Candidate(chapter_id, fixed, manner, _TALL if manner == _BEFORE and mark in _TALL else mark)

    for match in _RUN_OF_SPACES.finditer(text.prose):
        last = match["before"][-1]
        yield candidate(match, f"{match['before']} {match['after']}", _TWO_SPACES, last if last in ".!?" else " ")
    if text.primary in _UNSPACED:
        return
    before = _SPACE_BEFORE_COMMA if text.primary in _SPACED_MARKS else _SPACE_BEFORE
    for match in before.finditer(text.prose):
        if len(match["letters"]) > 1 or match["letters"] in letters or _JOINED.match(text.prose, match.start() - 2):
            yield candidate(match, f"{match['word']}{match['mark']}", _BEFORE, match["mark"])
    for match in _NONE_AFTER.finditer(text.prose):
        if match["mark"] not in "!?" or not match["after"].islower():  # otherwise the mark is a misread letter
            yield candidate(match, f"{match['before']}{match['mark']} {match['after']}", _MISSING, match["mark"])
    for match in _NONE_AFTER_STOP.finditer(text.prose):
        if match["after"][0].isupper() and match["before"].islower():
            yield candidate(match, f"{match['before']}. {match['after']}", _MISSING, ".")
    for match in _DOUBLED.finditer(text.prose):
        yield candidate(match, f"{match['word']}{match['mark']}", _TWICE, match["mark"])
    for match in _DOUBLED_STOP.finditer(text.prose):
        yield candidate(match, f"{match['word']}.", _TWO_STOPS, ".")
