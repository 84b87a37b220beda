"""The data that the writing modules work on: a book with its chapters and digests, an outline, a chapter's draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bookgen.errors import NotFound
from bookgen.models import Book, Chapter, Digest
from bookgen.words import count_words


@dataclass(frozen=True, slots=True)
class OutlineChapter:
    """A chapter of an outline. `plan`: its scenes or steps (`writing.chapter_plan`), possibly empty."""

    title: str
    summary: str
    target_word_count: int
    plan: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outline:
    """An outline. `bible`: people, places, terms and voice as JSON. The chapters' words sum to the book's target."""

    bible: Mapping[str, Any]
    chapters: tuple[OutlineChapter, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """The current state of a book. `chapters`: all chapters in order, written or not.

    `digests`: by chapter number, what later chapters need to know about the chapter, as the model noted it. `in_parts`:
    the model has proved unable to write a whole chapter in one call. `wish`: the author's wish for a chapter that is
    written again. `pictures`: by chapter number, what the pictures of a children's book show.
    """

    book: Book
    chapters: tuple[Chapter, ...]
    digests: Mapping[int, Digest] = field(default_factory=dict)
    in_parts: bool = False
    wish: str = ""
    pictures: Mapping[int, str] = field(default_factory=dict)

    def chapter(self, number: int) -> Chapter:
        """The chapter with that number. Raises NotFound."""
        for chapter in self.chapters:
            if chapter.chapter_number == number:
                return chapter
        raise NotFound

    def after(self, number: int) -> Chapter | None:
        """The next chapter; None after the last one."""
        return next((each for each in self.chapters if each.chapter_number == number + 1), None)

    def written_before(self, number: int) -> list[Chapter]:
        """The earlier chapters that have a text."""
        return [each for each in self.chapters if each.chapter_number < number and each.content.strip()]


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that the quality gate found in a text and did not change.

    `kind` names the rule; `excerpt` has at most 200 characters.
    """

    kind: str
    excerpt: str
    detail: str = ""

    def note(self) -> dict[str, Any]:
        """The finding as an entry of the chapter's quality notes."""
        return {"kind": self.kind, "excerpt": self.excerpt, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class TextChange:
    """A passage of the model's text that the service changed.

    `before` is the passage as the model wrote it; `after` is empty if it was removed. `follows` is the end of the text
    in front of the passage, empty at the beginning of the chapter.
    """

    kind: str
    detail: str
    before: str
    after: str = ""
    follows: str = ""

    def note(self) -> dict[str, Any]:
        """The change as an entry of the chapter's quality notes."""
        note = {"kind": self.kind, "excerpt": self.before[:200], "detail": self.detail}
        return {**note, "before": self.before, "after": self.after, "follows": self.follows}

    def undone(self, content: str) -> str:
        """`content` with the model's passage restored, at the end if its old place no longer exists."""
        found = content.find(self.follows)
        place = found + len(self.follows) if found >= 0 else len(content)
        if self.after:
            start = content.find(self.after, place)
            start = content.find(self.after) if start < 0 else start
            if start >= 0:
                return content[:start] + self.before + content[start + len(self.after) :]
        pieces = content[:place].rstrip("\n"), self.before, content[place:].lstrip("\n")
        return "\n\n".join(piece for piece in pieces if piece)


ANCHOR_CHARACTERS = 200


def anchor(text: str) -> str:
    """The end of `text`. A `TextChange` stores it to find the place of its passage later."""
    return text.rstrip()[-ANCHOR_CHARACTERS:]


@dataclass(frozen=True, slots=True)
class Scene:
    """What the picture of a spread (two pages) shows: a prompt for the painter, an alt text in the book's language."""

    picture: str
    alt: str


@dataclass(frozen=True, slots=True)
class ChapterDraft:
    """A chapter's text. `changes` are in the order in which they were made. `writer` is the model that wrote the text.

    `digest` is None if it could not be made or is made later. `in_parts`: the model has proved unable to write a whole
    chapter in one call. A spread (two pages of a children's book) also has the `scene` to paint, and a `plan` of the
    book if the book had none.
    """

    content: str
    word_count: int
    digest: Digest | None
    findings: tuple[Finding, ...] = ()
    plan: Outline | None = None
    scene: Scene | None = None
    in_parts: bool = False
    writer: str = ""
    changes: tuple[TextChange, ...] = ()

    @property
    def original(self) -> str | None:
        """The text as the model wrote it; None if nothing was changed."""
        if not self.changes:
            return None
        text = self.content
        for change in reversed(self.changes):
            text = change.undone(text)
        return text

    @property
    def original_words(self) -> int:
        return count_words(self.original or "")

    def notes(self) -> list[dict[str, Any]]:
        """The chapter's quality notes: first the findings, then the changes."""
        return [*(each.note() for each in self.findings), *(each.note() for each in self.changes)]
