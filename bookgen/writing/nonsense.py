"""Replies that are no text of the book at all: instructions sent back, another language, one sentence over and over."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.writing import sentences
from bookgen.writing.foreign import mostly_foreign
from bookgen.writing.language import language
from bookgen.writing.units import units

MOST_ECHO = 0.3  # of a reply's characters
LEAST_SENTENCES = 6  # fewer may well be alike
LEAST_DIFFERENT = 0.5  # of the sentences


def problem_with(text: str, tag: str, sent_back: Sequence[str]) -> str:
    """Why `text`, in a book of the language `tag`, is none of it, as the end of "It cannot be used: "; else empty.
    `sent_back`: its sentences that are our own instructions."""
    if sum(map(len, sent_back)) > len(text) * MOST_ECHO:
        return f"it repeats its instructions (“{sent_back[0][:80]}”)"
    if mostly_foreign(text, tag):
        return f"it is not in {language(tag).name}"
    said = [" ".join(units(sentence)) for sentence in sentences.split(text)]
    if len(said) >= LEAST_SENTENCES and len(set(said)) < len(said) * LEAST_DIFFERENT:
        return f"it says the same over and over (“{max(set(said), key=said.count)[:80]}”)"
    return ""
