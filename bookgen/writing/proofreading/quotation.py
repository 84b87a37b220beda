"""Quotation marks and brackets: opened and never closed, or set unlike the rest of the book."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from bookgen.models import Severity, SuggestionType
from bookgen.writing import sentences
from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.structure import blocks

FEW = 0.05  # of the marks of a book: a habit is none, a slip may be
ENOUGH = 20  # marks, to speak of a habit

_CURLY = re.compile("[“”]")
_STRAIGHT = re.compile(r'"')
_STRAIGHT_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_CURLY_APOSTROPHE = re.compile(r"(?<=[^\W\d_])’(?=[^\W\d_])")
# Where ” closes and “ opens. German and Czech close with “, Swedish opens with ”.
_ENGLISH_PAIR = ("en", "pt", "tr", "ko", "zh", "vi", "nl", "es", "it", "ar", "hi")
_PAIRS = {
    **{tag: {"“": "”"} for tag in _ENGLISH_PAIR},
    **{tag: {"„": "“"} for tag in ("de", "cs", "sk", "sl", "bg")},
    **{tag: {"„": "”"} for tag in ("pl", "hu", "ro")},
    **{tag: {"«": "»"} for tag in ("fr", "ru", "uk", "el")},
    "ja": {"「": "」"},
}
_WORDS_AROUND = re.compile(r"\S+")

MarkFor: TypeAlias = Callable[[str, str], str]  # of what stands before and after it in its word


def unclosed(text: ChapterText) -> Iterator[Correction]:
    """Speech that is a paragraph's whole end and has no closing mark, and brackets that are not closed.

    Speech that goes on in the next paragraph is opened again there, and closed only at its end: that is right.
    """
    found = list(blocks(text.prose))
    following = [block for _, block in found[1:]] + [""]
    for (offset, block), after in zip(found, following, strict=True):
        yield from _unclosed_quotation(text, offset, block, after)
        yield from _unclosed_bracket(text, offset, block)


def _unclosed_quotation(text: ChapterText, offset: int, block: str, after: str) -> Iterator[Correction]:
    for opener, closer in _PAIRS.get(text.primary, {}).items():
        if block.count(opener) != block.count(closer) + 1 or after.lstrip().startswith(opener):
            continue
        start = block.rfind(opener)
        speech = block[start:].rstrip()
        if closer in speech or "\n" in speech or len(sentences.split(speech[1:])) != 1 or "\0" in speech:
            continue
        if speech[-1] in ".!?…":
            yield _closed(text, offset + start, offset + start + len(speech), speech + closer)


def _unclosed_bracket(text: ChapterText, offset: int, block: str) -> Iterator[Correction]:
    if block.count("(") != block.count(")") + 1:
        return
    start = block.rfind("(")
    said = next(iter(sentences.split(block[start:])), "")
    if ")" not in block[start:] and len(said) > 2 and said[-1] in ".!?" and "\n" not in said and "\0" not in said:
        yield _closed(text, offset + start, offset + start + len(said), f"{said[:-1]}){said[-1]}")


def _closed(text: ChapterText, start: int, end: int, replacement: str) -> Correction:
    explanation = "What is opened here is never closed."
    return text.correction(start, end, replacement, SuggestionType.PUNCTUATION, Severity.MAJOR, explanation, "unclosed")


def mixed(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Straight marks in a book that is set with curly ones, by chapter id."""
    if _is_rare(book.count(_STRAIGHT), book.count(_CURLY)) and book.primary in _ENGLISH_PAIR:
        yield from _each(book, _STRAIGHT, _curly_quote)
    if _is_rare(book.count(_STRAIGHT_APOSTROPHE), book.count(_CURLY_APOSTROPHE)):
        yield from _each(book, _STRAIGHT_APOSTROPHE, lambda _before, _after: "’")


def _is_rare(odd: int, usual: int) -> bool:
    return usual >= ENOUGH and 0 < odd <= FEW * usual


def _each(book: BookText, pattern: re.Pattern[str], mark_for: MarkFor) -> Iterator[tuple[int, Correction]]:
    for chapter_id, text in book.texts.items():
        for word in _WORDS_AROUND.finditer(text.prose):
            if "\0" in word[0] or not pattern.search(word[0]):
                continue
            fixed = _set(word[0], pattern, mark_for)
            if fixed != word[0]:
                yield (
                    chapter_id,
                    text.correction(
                        word.start(),
                        word.end(),
                        fixed,
                        SuggestionType.CONSISTENCY,
                        Severity.INFO,
                        "The rest of the book is set with curly marks.",
                        "mixed_marks",
                    ),
                )


def _set(word: str, pattern: re.Pattern[str], mark_for: MarkFor) -> str:
    return pattern.sub(lambda match: mark_for(word[: match.start()], word[match.end() :]), word)


def _curly_quote(before: str, after: str) -> str:
    return "“" if not before.strip("([—–*_") and after else "”"
