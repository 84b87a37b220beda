"""Names and terms that are spelt unlike the bible: one letter off, rare, and no word of the language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction, within

SHORTEST = 5  # letters: shorter names are too near to each other
OFTEN, RARELY = 3, 2  # times: how often the right spelling stands at least, a wrong one at most
LONG = 8  # letters: a name so long may be two letters off

_CAPITALISED = re.compile(r"(?<![\w'’-])[^\W\d_][^\W\d_]{3,}(?![\w-])")


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """By chapter id."""
    known = [name for name in book.names if len(name) >= SHORTEST and book.words[name] >= OFTEN]
    if not known:
        return
    slips = {
        word: name
        for word, times in book.words.items()
        if times <= RARELY and word[0].isupper() and not _is_word(word, book)
        for name in known
        if _is_slip(word, name)
    }
    for chapter_id, text in book.texts.items():
        for match in _CAPITALISED.finditer(text.prose):
            if name := slips.get(match[0]):
                yield (
                    chapter_id,
                    text.correction(
                        match.start(),
                        match.end(),
                        name,
                        SuggestionType.CONSISTENCY,
                        Severity.MAJOR,
                        f"Elsewhere in the book it is spelt {name}.",
                        "name",
                    ),
                )


def _is_word(word: str, book: BookText) -> bool:
    return word in book.names or book.words[word.lower()] > 0


def _is_slip(word: str, name: str) -> bool:
    """Not an inflected form, which differs at its end alone, nor another name, which begins with another letter."""
    if word[0] != name[0] or word[:-2] == name[:-2] or word.startswith(name[:-1]) or name.startswith(word[:-1]):
        return False
    return within(word, name, 2 if len(name) >= LONG else 1)
