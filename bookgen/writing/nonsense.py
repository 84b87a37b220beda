"""Reject replies that cannot be text of the book: our own instructions, another language, one repeated sentence."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.models import Book
from bookgen.writing import sentences
from bookgen.writing.author_wishes import is_bilingual
from bookgen.writing.craft import has_refrains
from bookgen.writing.foreign import mostly_foreign
from bookgen.writing.language import language
from bookgen.writing.text_units import by_character, units

MAX_ECHO_SHARE = 0.3  # of a reply's characters
MIN_SENTENCES = 6  # fewer sentences may be similar by chance
MIN_DIFFERENT_SHARE = 0.5  # of the sentences must be different
MIN_DIFFERENT_SHARE_OF_REFRAINS = 0.2  # … in texts with refrains
MIN_SENTENCE_UNITS = 4  # a shorter sentence may be a sound: "Plip, says the rain."


def problem_with(text: str, book: Book, sent_back: Sequence[str]) -> str:
    """Why `text` cannot be text of the book, as the end of the sentence "It cannot be used: …"; empty if it can.

    `sent_back`: the sentences of `text` that are our own instructions.
    """
    if sum(map(len, sent_back)) > len(text) * MAX_ECHO_SHARE:
        return f"it repeats its instructions (“{sent_back[0][:80]}”)"
    if mostly_foreign(text, book.content_language) and not is_bilingual(book):
        return f"it is not in {language(book.content_language).name}"
    said = [" ".join(each) for each in map(units, sentences.split(text)) if _is_long(each)]
    least = MIN_DIFFERENT_SHARE_OF_REFRAINS if has_refrains(book) else MIN_DIFFERENT_SHARE
    if len(said) >= MIN_SENTENCES and len(set(said)) < len(said) * least:
        return f"it says the same over and over (“{max(set(said), key=said.count)[:80]}”)"
    return ""


def _is_long(said: Sequence[str]) -> bool:
    return len(said) > MIN_SENTENCE_UNITS * (2 if by_character(said) else 1)
