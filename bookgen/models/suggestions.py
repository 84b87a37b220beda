"""Suggested corrections of a book's text, and which of them are safe to apply without review."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


# Types that may be applied without review by the author. `writing.proofreading.correction.honest` limits their size.
SAFE_TYPES = (SuggestionType.SPELLING, SuggestionType.PUNCTUATION)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested correction, or a finding without a correction: then `suggested_text` is None.

    The offsets count characters in the version `content_version` of the chapter's text. `prefix` and `suffix` are the
    text before and after the original text. `source`: the rule, checker or model that made the suggestion.
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
        return self.type in SAFE_TYPES
