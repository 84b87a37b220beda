"""Books, their chapters and their pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

UNNAMED_AUTHOR = "Anonymous"  # of the account that a command creates; no prompt has this name
SAMPLE_WRITER = "offline"  # the name of the model that writes sample text


class BookStatus(StrEnum):
    DRAFT = "draft"
    OUTLINE = "outline"
    GENERATING = "generating"
    COMPLETED = "completed"


class BookKind(StrEnum):
    """How a book is written and laid out. Each chapter of a children's book is a spread: two facing pages."""

    PROSE = "prose"
    CHILDRENS = "childrens"


class AgeRange(StrEnum):
    """The age of the readers of a children's book, in years."""

    TODDLERS = "0-3"
    PRESCHOOLERS = "3-5"
    FIRST_READERS = "6-8"
    READERS = "9-12"


class ChapterStatus(StrEnum):
    PENDING = "pending"
    WRITING = "writing"
    COMPLETED = "completed"
    ERROR = "error"


class FundingSource(StrEnum):
    SUBSCRIPTION = "subscription"
    CREDITS = "credits"


class RevisionOrigin(StrEnum):
    """Why a text was put into a chapter's history. In most cases this is the change that replaced it."""

    EDITOR = "editor"
    MODEL = "model"
    REGENERATE = "regenerate"
    RESTORE = "restore"
    PROOFREADING = "proofreading"
    REVIEW = "review"  # edits with which the model answered the findings of its editor's reading
    NOT_PREFERRED = "not_preferred"  # no former text: a revision to which a comparison preferred the draft
    QUALITY_GATE = "quality_gate"  # the former text is the model's, before the quality gate changed it


class SourceType(StrEnum):
    """How content was made: a term of the IPTC vocabulary "Digital Source Type"."""

    MODEL = "trainedAlgorithmicMedia"  # a generative model made all of it
    PARTLY_MODEL = "compositeWithTrainedAlgorithmicMedia"  # a generative model made some of it
    DRAWN = "algorithmicMedia"  # an algorithm without training data: our cover designs, sample text

    @property
    def uri(self) -> str:
        return f"http://cv.iptc.org/newscodes/digitalsourcetype/{self.value}"


MAX_BLURB_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Book:
    """A book. `description` is the author's idea, which is never printed. `blurb` is the text for readers.

    `age_range`, `theme` and `characters` (with name and description) are for children's books. `character_sheet_key` is
    the media key of the hero's picture, the reference for all other pictures. `bible` is the story bible: characters,
    places and style, from which chapters are written. `authored_bible`: the entries of `bible` that the author wrote.
    `bible_changes`: the author's changes to entries of `bible` (`facts.corrections`).
    `export_settings` has the settings of exports that the author has chosen (`render.settings`).
    """

    id: int
    account_id: int
    title: str
    subtitle: str
    author_name: str
    genre: str
    target_audience: str
    description: str
    style_notes: str
    chapter_count: int
    target_word_count: int
    trim_size: str
    content_language: str
    status: BookStatus
    bible: Mapping[str, Any]
    funding_source: FundingSource | None
    created_at: datetime
    updated_at: datetime
    blurb: str = ""
    kind: BookKind = BookKind.PROSE
    age_range: AgeRange | None = None
    theme: str = ""
    characters: Sequence[Mapping[str, str]] = ()
    character_sheet_key: str | None = None
    authored_bible: Mapping[str, Any] = field(default_factory=dict)
    bible_changes: Sequence[Mapping[str, str]] = ()
    export_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter. `content` is Markdown, empty until written. `content_version` grows with each new text.

    `rewrite_run` is the run that will replace the content; None if no run will. `written_at` is when a model wrote the
    content; None if an author did or if the time is unknown. `writer` is the model that wrote the content; empty for an
    author's text. `plan`: its scenes or steps, in more detail than the summary (`writing.chapter_plan`), or empty.
    """

    id: int
    book_id: int
    chapter_number: int
    title: str
    summary: str
    content: str
    word_count: int
    target_word_count: int
    status: ChapterStatus
    content_version: int
    created_at: datetime
    updated_at: datetime
    rewrite_run: UUID | None = None
    written_at: datetime | None = None
    writer: str = ""
    plan: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_sample(self) -> bool:
        """Whether the content is sample text, which no language model wrote."""
        return self.writer == SAMPLE_WRITER


@dataclass(frozen=True, slots=True)
class Cover:
    """A cover variant, with its size in pixels. `design` allows drawing it in any other size.

    `image_key` and `thumbnail_key` are the media keys of its pictures: the server sends them at `/media/KEY`.
    """

    id: int
    book_id: int
    style: str
    prompt: str
    image_key: str
    thumbnail_key: str
    width: int
    height: int
    is_selected: bool
    created_at: datetime
    design: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Illustration:
    """A chapter's picture, with its size in pixels. `position`: how many of the chapter's paragraphs come before it."""

    id: int
    chapter_id: int
    caption: str
    alt_text: str
    prompt: str
    image_key: str
    position: int
    width: int
    height: int
    created_at: datetime
