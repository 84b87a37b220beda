"""A chapter while it is written: what it is given, and its text so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bookgen.models import SAMPLE_WRITER, Book, Chapter, Digest
from bookgen.providers.text import Block, Message, TextReply
from bookgen.words import measure
from bookgen.writing import budget, context
from bookgen.writing.language import language
from bookgen.writing.material import Material
from bookgen.writing.seam import join
from bookgen.writing.window import WINDOW


@dataclass(slots=True)
class WorkingDraft:
    """A chapter while it is written. `avoid`: sentences that earlier chapters have worn out."""

    material: Material
    chapter: Chapter
    digests: Sequence[Digest]
    avoid: Sequence[str] = ()
    text: str = ""
    length: float = 0.0  # of the text, in words
    problem: str = ""  # why the last reply could not be used, or not whole
    is_sample: bool = False  # no model writes it
    writer: str = ""  # the model that wrote the text
    same_paragraph: bool = False  # the last reply broke off in the middle of a paragraph
    window: int = WINDOW  # tokens that a call may have
    turns: list[Message] = field(default_factory=list)
    pace: budget.Pace = field(default_factory=budget.Pace)

    @property
    def book(self) -> Book:
        return self.material.book

    @property
    def words(self) -> int:
        return round(self.length)

    @property
    def aim(self) -> int:
        return budget.aim_for(self.chapter, self.material.chapters)

    def add(self, kept: str, *, same_paragraph: bool) -> None:
        """Put the sentences kept of a reply after the text. `same_paragraph`: what follows them belongs to theirs."""
        self.text = join(self.text, kept, same_paragraph=self.same_paragraph)
        self.length += measure(kept)
        self.same_paragraph = same_paragraph

    def credit(self, reply: TextReply) -> None:
        """Notes which model wrote what is kept of a reply. A text that is sample text in part is called so."""
        if self.writer != SAMPLE_WRITER:
            self.writer = reply.model

    def system(self) -> tuple[Block, ...]:
        chapters, number, first = self.material.chapters, self.chapter.chapter_number, not self.turns
        return context.system(self.book, chapters, self.digests, first_call=first, window=self.window, number=number)

    @property
    def lengths(self) -> budget.Lengths:
        return budget.Lengths.within(self.window, language(self.book.content_language))
