"""Finds misspelt names and terms of the bible: rare words that differ from a name by one letter (long names: two)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction, Reason, within

MIN_NAME_LETTERS = 5  # letters; shorter names are too similar to each other
OFTEN, RARELY = 3, 2  # minimum occurrences of the right spelling, maximum of a wrong one
LONG = 8  # letters; in a name this long, two letters may be wrong
ENDING = 2  # letters in which inflected forms of a name may differ

_CAPITALISED = re.compile(r"(?<![\w'’-])[^\W\d_][^\W\d_]{3,}(?![\w-])")


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections of misspelt names and terms, each with the id of its chapter."""
    known = _spellings(book)
    if not known:
        return
    slips = {
        word: name
        for word, times in book.words.items()
        if times <= RARELY and word[0].isupper() and not _is_word(word, book) and (name := _meant(word, known))
    }
    for chapter_id, text in book.texts.items():
        for match in _CAPITALISED.finditer(text.prose):
            if name := slips.get(match[0]):
                explanation = f"The rest of the book spells this name {name}."
                reason = Reason(SuggestionType.CONSISTENCY, Severity.MAJOR, explanation, "name")
                yield chapter_id, text.correction(*match.span(), name, reason)


def _is_word(word: str, book: BookText) -> bool:
    return word in book.names or book.words[word.lower()] > 0


def _spellings(book: BookText) -> list[str]:
    """The bible's names that occur often in the book, and their frequent inflected forms, the most frequent first."""
    given = book.names - book.terms
    names = [name for name in given if len(name) >= MIN_NAME_LETTERS and book.words[name] >= OFTEN]
    stems = tuple(name[: max(MIN_NAME_LETTERS - 1, len(name) - ENDING)] for name in names)
    forms = {
        word
        for word, times in book.words.items()
        if times >= OFTEN and len(word) >= MIN_NAME_LETTERS and word.startswith(stems) and not _is_word(word, book)
    }
    return sorted({*names, *forms}, key=lambda name: (-book.words[name], name))


def _meant(word: str, known: Sequence[str]) -> str | None:
    """The known spelling of which the word is a misspelling; None if it is not a misspelling."""
    for letters in (1, 2):
        for name in known:
            if letters <= (2 if len(name) >= LONG else 1) and _is_slip(word, name, letters):
                return name
    return None


def _is_slip(word: str, name: str, letters: int) -> bool:
    """Whether the word is a misspelling of the name, with at most `letters` wrong letters.

    Not a misspelling: an inflected form, which differs only at its end, or a name with a different first letter.
    """
    if word[0] != name[0] or word[:-ENDING] == name[:-ENDING]:
        return False
    return not (word.startswith(name[:-1]) or name.startswith(word[:-1])) and within(word, name, letters)
