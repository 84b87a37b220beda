"""Finds sentences that occur twice in the book."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from bookgen.models import Severity, SuggestionType
from bookgen.writing import sentences
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.structure import blocks
from bookgen.writing.text_units import by_character, units

MIN_UNITS = 9  # shorter sentences may be repeated on purpose
_REASON = Reason(
    SuggestionType.STYLE, Severity.MINOR, "The same sentence appears elsewhere in the book.", "sentence_twice"
)


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections that remove repeated sentences, each with the id of its chapter.

    A sentence is repeated if it occurs earlier in the book. Short sentences, and sentences at the beginning of a
    paragraph, are not reported.
    """
    seen: set[bytes] = set()
    for chapter_id, text in book.texts.items():
        for offset, block in blocks(text.prose):
            place = 0
            for sentence in sentences.split(block):
                place = block.find(sentence, place)
                said = tuple(units(sentence))
                digest = hashlib.blake2b("\0".join(said).encode("utf-8", "surrogatepass"), digest_size=16).digest()
                again = digest in seen
                if len(said) >= MIN_UNITS * (2 if by_character(said) else 1) and "\0" not in sentence:
                    seen.add(digest)
                    if again and place > 0 and "\n" not in sentence:
                        start = offset + place - (block[place - 1] == " ")
                        yield chapter_id, text.correction(start, offset + place + len(sentence), "", _REASON)
                place += len(sentence)
