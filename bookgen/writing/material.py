"""What writing is given and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bookgen.errors import NotFound
from bookgen.models import Book, Chapter, Digest


@dataclass(frozen=True, slots=True)
class OutlineChapter:
    title: str
    summary: str
    target_word_count: int


@dataclass(frozen=True, slots=True)
class Outline:
    """`bible`: people, places, terms, voice; JSON. The budgets sum to the book's target exactly."""

    bible: Mapping[str, Any]
    chapters: tuple[OutlineChapter, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """A book as it stands: every chapter in order, with what is written, and the digests by chapter number."""

    book: Book
    chapters: tuple[Chapter, ...]
    digests: Mapping[int, Digest] = field(default_factory=dict)

    def chapter(self, number: int) -> Chapter:
        """The chapter of that number. NotFound."""
        for chapter in self.chapters:
            if chapter.chapter_number == number:
                return chapter
        raise NotFound

    def after(self, number: int) -> Chapter | None:
        """The chapter that follows that number, unless the book ends with it."""
        return next((each for each in self.chapters if each.chapter_number == number + 1), None)

    def written_before(self, number: int) -> list[Chapter]:
        """The chapters before that number that have a text."""
        return [each for each in self.chapters if each.chapter_number < number and each.content.strip()]


@dataclass(frozen=True, slots=True)
class Finding:
    """What the quality gate saw and could not mend. `kind` names the rule; `excerpt` is at most 200 characters."""

    kind: str
    excerpt: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a spread's picture shows, for a painter, and in the book's language for who cannot see it."""

    picture: str
    alt: str


@dataclass(frozen=True, slots=True)
class ChapterDraft:
    """A chapter's text; without `digest` where none could be made. `writer` is the model that wrote the text.

    Of a spread also what is to be painted for it, and the `plan` of the book if it had to be made first.
    """

    content: str
    word_count: int
    digest: Digest | None
    findings: tuple[Finding, ...] = ()
    plan: Outline | None = None
    scene: Scene | None = None
    writer: str = ""
