"""Reports of proofreaders and editors on a book's text. A report lists suggestions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class ReportKind(StrEnum):
    """What kind of work a report comes from."""

    PROOFREADING = "proofreading"
    REVIEW = "review"  # an editor's reading of the whole book at once
    PASSAGE = "passage"  # a request of the author to reword one passage


class ReportStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Unread:
    """A chapter that the model could not proofread. `refused`: the model refused; otherwise its replies were unusable.

    `whole`: the whole chapter is unread; otherwise only a part of it.
    """

    chapter_number: int
    refused: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Report:
    """A report on some `chapters` of a book, `done` of which are finished.

    `by_type` and `by_severity` count all suggestions, in any state. `unread`: chapters that, at least in part, only the
    rules have checked, and not the model.
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
