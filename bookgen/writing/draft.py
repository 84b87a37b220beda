"""A chapter while it is being written: its inputs and its text so far."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bookgen.models import SAMPLE_WRITER, Book, Chapter, Digest, is_collection
from bookgen.providers.text import Block, Message, TextReply
from bookgen.words import measure, tokens
from bookgen.writing import budget, context
from bookgen.writing.chapters_in_view import ShownChapters
from bookgen.writing.language import language
from bookgen.writing.material import Finding, Material, TextChange, anchor
from bookgen.writing.seam import join
from bookgen.writing.window import WINDOW

TASK_TOKENS = 4_500  # of the request for a chapter together with the request for its digest


@dataclass(slots=True)
class WorkingDraft:
    """A chapter while it is being written. `avoid`: sentences that earlier chapters have used too often."""

    material: Material
    chapter: Chapter
    digests: Sequence[Digest]
    avoid: Sequence[str] = ()
    text: str = ""
    length: float = 0.0  # of the text, in words
    problem: str = ""  # why the last reply could not be used, or only in part
    is_sample: bool = False  # the last reply was sample text, not written by a model
    was_tightened: bool = False  # a stretch that was far too long has been requested again
    findings: list[Finding] = field(default_factory=list)
    writer: str = ""  # the model that wrote the text
    same_paragraph: bool = False  # the last reply broke off in the middle of a paragraph
    window: int = WINDOW  # tokens of a call, without the text of earlier chapters
    room: int = 0  # tokens for the text of earlier chapters
    view: ShownChapters = field(default_factory=ShownChapters)
    begun: asyncio.Event = field(default_factory=asyncio.Event)  # set when the first reply begins
    taken: int = 0  # tokens of the prompt
    turns: list[Message] = field(default_factory=list)
    changes: list[TextChange] = field(default_factory=list)  # changes of the model's text, in order
    goal: budget.Goal = field(init=False)
    pace: budget.Pace = field(init=False)
    in_parts: bool = field(init=False)  # the model has proved unable to write a chapter in one reply

    def __post_init__(self) -> None:
        self.goal = budget.goal_for(self.chapter, self.material.chapters, in_lines=is_collection(self.book))
        self.pace = self.goal.pace()
        self.in_parts = self.material.in_parts

    @property
    def book(self) -> Book:
        return self.material.book

    @property
    def words(self) -> int:
        return round(self.length)

    @property
    def aim(self) -> int:
        return self.goal.aim

    def add(self, kept: str, *, same_paragraph: bool) -> None:
        """Append `kept`, the kept sentences of a reply.

        `same_paragraph`: the next reply continues the last paragraph of `kept`.
        """
        self.text = join(self.text, kept, same_paragraph=self.same_paragraph)
        self.length += measure(kept)
        self.same_paragraph = same_paragraph

    def record(self, changes: Sequence[TextChange]) -> None:
        """Record the changes made to a reply. Call this before `add`.

        If a change is at the very start of the reply, the text in front of it is the end of `self.text`.
        """
        self.changes.extend(each if each.follows else replace(each, follows=anchor(self.text)) for each in changes)

    def credit(self, reply: TextReply) -> None:
        """Record the model of a reply as the writer, unless an earlier reply was sample text of the offline model."""
        if self.writer != SAMPLE_WRITER:
            self.writer = reply.model

    def system(self) -> tuple[Block, ...]:
        return self._system(self.view)

    @property
    def frame_tokens(self) -> int:
        """The tokens of the system prompt without the texts of earlier chapters."""
        return sum(tokens(block.text) for block in self._system(ShownChapters()))

    def _system(self, view: ShownChapters) -> tuple[Block, ...]:
        shown = self.view.numbers
        return context.system(
            self.book,
            self.material.chapters,
            [digest for digest in self.digests if digest.chapter_number not in shown],
            shown=view.blocks,
            first_call=not self.turns,
            window=self.window,
            number=self.chapter.chapter_number,
        )

    @property
    def lengths(self) -> budget.Lengths:
        lang = language(self.book.content_language)
        return budget.Lengths.within(self.window, lang, in_parts=self.in_parts, taken=self.taken)

    def measure(self) -> None:
        """Set `taken`, the tokens of the window that the prompt takes. Slow for a long book."""
        self.taken = self.frame_tokens + TASK_TOKENS
