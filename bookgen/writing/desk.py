"""What lies before the writer of one chapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bookgen.models import Book, Chapter, Digest
from bookgen.providers.text import Block, Message
from bookgen.words import count_words
from bookgen.writing import budget, context
from bookgen.writing.material import Material


@dataclass(slots=True)
class Desk:
    """What is given, and what is written so far."""

    material: Material
    chapter: Chapter
    digests: Sequence[Digest]
    avoid: Sequence[str] = ()
    text: str = ""
    same_paragraph: bool = False  # the last reply broke off in the middle of a paragraph
    turns: list[Message] = field(default_factory=list)
    pace: budget.Pace = field(default_factory=budget.Pace)

    @property
    def book(self) -> Book:
        return self.material.book

    @property
    def words(self) -> int:
        return count_words(self.text)

    @property
    def aim(self) -> int:
        return budget.aim_for(self.chapter, self.material.chapters)

    def system(self) -> tuple[Block, ...]:
        return context.system(self.book, self.material.chapters, self.digests, first_call=not self.turns)
