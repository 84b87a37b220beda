"""A book in the form that the proofreading rules read: the prose of its chapters, its names, and its word counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bookgen.models import Book, Chapter
from bookgen.writing.language import primary
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.structure import prose

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NOUNS_IN_CAPITALS = ("de", "lb")  # languages in which a term is a noun like any other, and has many similar ones


@dataclass(frozen=True)
class ChapterText:
    """One chapter as the rules read it.

    `primary` is the language without a region. `prose` is the content with U+0000 in place of code, links and other
    markup, so that offsets stay the same.
    """

    content: str
    primary: str

    @cached_property
    def prose(self) -> str:
        return prose(self.content)

    def correction(self, start: int, end: int, replacement: str, reason: Reason) -> Correction:
        return Correction.at(self.content, start, end, replacement, reason)


@dataclass(frozen=True)
class BookText:
    """The whole book. `texts`: its chapters by id, in order.

    `names`: the words of the names and terms in the bible. `terms`: those of terms that any noun may resemble.
    """

    texts: Mapping[int, ChapterText]
    primary: str
    names: frozenset[str]
    terms: frozenset[str] = frozenset()

    @classmethod
    def of(cls, book: Book, chapters: Sequence[Chapter]) -> BookText:
        code = primary(book.content_language)
        texts = {chapter.id: ChapterText(chapter.content, code) for chapter in chapters if chapter.content.strip()}
        names, terms = _words_of(book.bible, "people", "places"), _words_of(book.bible, "terms")
        return cls(texts, code, names | terms, terms - names if code in _NOUNS_IN_CAPITALS else frozenset())

    @cached_property
    def words(self) -> Counter[str]:
        """The number of occurrences of each word in the book, in its exact spelling."""
        return Counter(word for text in self.texts.values() for word in _WORD.findall(text.prose))

    def count(self, pattern: re.Pattern[str]) -> int:
        return sum(sum(1 for _ in pattern.finditer(text.prose)) for text in self.texts.values())


def _words_of(bible: Mapping[str, Any], *kinds: str) -> frozenset[str]:
    """Every word of the names in these lists of the bible."""
    found: set[str] = set()
    for kind in kinds:
        listed = bible.get(kind)
        for entry in listed if isinstance(listed, list) else []:
            name = entry.get("name") if isinstance(entry, Mapping) else entry
            if isinstance(name, str):
                found.update(_WORD.findall(name))
    return frozenset(found)
