"""The nouns of the service: frozen dataclasses, enums and the pure rules between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class BookStatus(StrEnum):
    DRAFT = "draft"
    OUTLINE = "outline"
    GENERATING = "generating"
    COMPLETED = "completed"


class ChapterStatus(StrEnum):
    PENDING = "pending"
    WRITING = "writing"
    COMPLETED = "completed"
    ERROR = "error"


class RunStatus(StrEnum):
    """The stored state of a run. `queued` is shown to callers as `running`."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    COMPLETED = "completed"
    ERROR = "error"

    @property
    def active(self) -> bool:
        return self in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)


class RunMode(StrEnum):
    FULL = "full"
    CONTINUE = "continue"
    AUTOMATED = "automated"


class FundingSource(StrEnum):
    SUBSCRIPTION = "subscription"
    CREDITS = "credits"


class RevisionOrigin(StrEnum):
    """Who replaced a chapter's former text."""

    EDITOR = "editor"
    MODEL = "model"
    REGENERATE = "regenerate"
    RESTORE = "restore"
    PROOFREADING = "proofreading"


@dataclass(frozen=True, slots=True)
class Account:
    id: int
    username: str
    email: str
    first_name: str
    last_name: str
    email_verified: bool
    avatar_url: str | None
    is_staff: bool
    is_superuser: bool
    blocked: bool
    created_at: datetime

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


@dataclass(frozen=True, slots=True)
class Book:
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


@dataclass(frozen=True, slots=True)
class Chapter:
    """`content` is Markdown, empty until written; `content_version` grows with every overwrite."""

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


@dataclass(frozen=True, slots=True)
class Run:
    """One run over a book's chapters. `epoch` fences its owner, `call_no` its call in flight."""

    id: UUID
    book_id: int
    account_id: int
    status: RunStatus
    mode: RunMode
    total: int
    done: int
    call_no: int
    epoch: int
    owner: UUID | None
    crash_count: int
    queue_seq: int
    current_chapter: int | None
    words_written: int
    failure: Mapping[str, Any] | None
    last_op: UUID | None
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls used. `cost_micros` counts only calls with a known price; `unknown_price`
    says that at least one call had none."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    images: int = 0
    cost_micros: int = 0
    unknown_price: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.images + other.images,
            self.cost_micros + other.cost_micros,
            self.unknown_price or other.unknown_price,
        )


@dataclass(frozen=True, slots=True)
class Digest:
    """What later chapters must know of a finished one. Keyed by the hash of the text it was read from."""

    chapter_number: int
    content_hash: str
    summary: str
    facts: tuple[str, ...] = ()
    threads_opened: tuple[str, ...] = ()
    threads_closed: tuple[str, ...] = ()
