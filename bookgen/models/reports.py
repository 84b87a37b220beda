"""Reports on a book's text, and their suggestions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class SuggestionType(StrEnum):
    """The topic of a proofreading suggestion."""

    SPELLING = "spelling"
    GRAMMAR = "grammar"
    PUNCTUATION = "punctuation"
    STYLE = "style"
    CLARITY = "clarity"
    CONSISTENCY = "consistency"
    CONTINUITY = "continuity"


class Severity(StrEnum):
    """The severity of a suggestion, the worst first."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    INFO = "info"


class SuggestionStatus(StrEnum):
    """The state of a suggestion. A stale one no longer matches the chapter's text."""

    PENDING = "pending"
    APPLIED = "applied"
    DISMISSED = "dismissed"
    STALE = "stale"


class ReportKind(StrEnum):
    """Who has read the chapters of a report."""

    PROOFREADING = "proofreading"
    REVIEW = "review"  # an editor, who reads the whole book at once
    PASSAGE = "passage"  # nobody: its author wanted one passage in other words


class ReportStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Unread:
    """A chapter that the model could not proofread, because it `refused` or gave unusable replies.

    `whole`: this applies to the whole chapter, not just a part.
    """

    chapter_number: int
    refused: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Report:
    """A report on some chapters, `done` of which are read.

    The counts include all suggestions, in any state. `unread`: text that only the rules have read, not the model.
    """

    id: int
    book_id: int
    kind: ReportKind
    status: ReportStatus
    chapters: int
    done: int
    by_type: Mapping[str, int]
    by_severity: Mapping[str, int]
    unread: Sequence[Unread]
    failure: Mapping[str, Any] | None
    created_at: datetime
    completed_at: datetime | None

    @property
    def progress(self) -> int:
        """The progress in percent, 0 to 100."""
        return 100 if self.status is ReportStatus.COMPLETED else 100 * self.done // max(self.chapters, 1)


# Types that may be applied without review by the author. `writing.proofreading.correction.honest` limits their size.
SAFE = (SuggestionType.SPELLING, SuggestionType.PUNCTUATION)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested correction, or a finding without one: then `suggested_text` is None.

    The offsets count characters in the text with `content_version`. `prefix` and `suffix` are the text before and after
    it. `source`: the rule, checker or model that suggested it.
    """

    id: int
    report_id: int
    chapter_id: int
    chapter_number: int
    type: SuggestionType
    severity: Severity
    original_text: str
    suggested_text: str | None
    explanation: str
    start_offset: int
    end_offset: int
    prefix: str
    suffix: str
    content_version: int
    fingerprint: str
    status: SuggestionStatus
    source: str

    @property
    def safe(self) -> bool:
        return self.type in SAFE
