"""Schemas of reports and their suggestions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from marshmallow import Schema, ValidationError, fields, validates_schema

from bookgen.http.edge.schemas import Body, Flag, Integer, List, Query, as_json, choice, schema_keywords
from bookgen.models import (
    Report,
    ReportKind,
    ReportStatus,
    Severity,
    Suggestion,
    SuggestionStatus,
    SuggestionType,
    Unread,
)

MAX_IDS = 10_000
MAX_NUMBERS = 20  # chapter numbers listed in a summary


class ReportRequestSchema(Body):
    book = Integer(minimum=1, required=True, metadata={"description": "The book's id.", "example": 1})
    chapter_ids = List(
        Integer(minimum=1),
        MAX_IDS,
        minimum=1,
        load_default=None,
        allow_none=True,
        metadata={"description": "If omitted, every written chapter is checked."},
    )


class ReportQuerySchema(Query):
    book = Integer(minimum=1, from_text=True, load_default=None)


class SuggestionCountsSchema(Schema):
    by_type = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)
    by_severity = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)


class ReportSchema(Schema):
    id = fields.Integer(required=True)
    book = fields.Integer(required=True, metadata={"description": "The book's id."})
    kind = fields.String(
        required=True,
        validate=choice(ReportKind),
        metadata={
            "description": "`proofreading`, `review` for an editor's reading of the whole book, "
            "`passage` for a passage that was rewritten on request."
        },
    )
    status = fields.String(required=True, validate=choice(ReportStatus))
    progress = fields.Integer(
        required=True, metadata={"description": "How much of the report is finished, in percent, 0 to 100."}
    )
    counts = fields.Nested(SuggestionCountsSchema, required=True)
    summary = fields.String(required=True)
    failure = fields.Dict(required=True, allow_none=True)
    created_at = fields.DateTime(required=True)
    completed_at = fields.DateTime(required=True, allow_none=True)


class SuggestionQuerySchema(Query):
    page = Integer(minimum=1, maximum=10**6, from_text=True, load_default=1)
    type = fields.String(validate=choice(SuggestionType), load_default=None)
    severity = fields.String(validate=choice(Severity), load_default=None)
    status = fields.String(validate=choice(SuggestionStatus), load_default=None)
    chapter = Integer(minimum=1, from_text=True, load_default=None, metadata={"description": "The chapter's id."})
    safe = Flag(
        from_text=True,
        load_default=None,
        metadata={"description": "Filter by whether a suggestion is safe to apply without review."},
    )


class SuggestionSchema(Schema):
    id = fields.Integer(required=True)
    report = fields.Integer(required=True, metadata={"description": "The report's id."})
    chapter = fields.Integer(required=True, metadata={"description": "The chapter's id."})
    chapter_number = fields.Integer(required=True)
    type = fields.String(required=True, validate=choice(SuggestionType))
    severity = fields.String(required=True, validate=choice(Severity))
    original_text = fields.String(required=True)
    suggested_text = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The replacement for `original_text`. Null for a finding without a replacement: edit the "
            "chapter, then dismiss the finding."
        },
    )
    prefix = fields.String(required=True, metadata={"description": "The text right before `original_text`."})
    suffix = fields.String(required=True, metadata={"description": "The text right after it."})
    explanation = fields.String(required=True)
    start = fields.Integer(
        required=True,
        metadata={"description": "The number of characters before `original_text` in the chapter's content."},
    )
    end = fields.Integer(required=True)
    status = fields.String(required=True, validate=choice(SuggestionStatus))
    safe = fields.Boolean(
        required=True,
        metadata={
            "description": "Whether the suggestion is safe to apply without review: it corrects the spelling of one "
            "word by at most two letters, joins two words, divides a word, or changes only punctuation."
        },
    )


class SuggestionPageSchema(Schema):
    count = fields.Integer(required=True)
    next = fields.String(required=True, allow_none=True)
    previous = fields.String(required=True, allow_none=True)
    results = fields.List(fields.Nested(SuggestionSchema), required=True)


class PreviewSchema(Schema):
    before = fields.String(required=True)
    after = fields.String(required=True)
    context_before = fields.String(required=True)
    context_after = fields.String(required=True)
    diff = fields.String(required=True, metadata={"description": "Unified diff of the lines that change."})
    content_digest_before = fields.String(
        required=True, metadata={"description": "SHA-256 of the chapter's content before the change."}
    )
    content_digest_after = fields.String(
        required=True, metadata={"description": "SHA-256 of the chapter's content after the change."}
    )


def _refuse_false(value: bool) -> None:
    if not value:
        raise ValidationError("Must be true. To apply other suggestions, send suggestion_ids or severity.")


@schema_keywords(minProperties=1)
class ApplyManySchema(Body):
    """Which suggestions to apply: by id, by severity, or all that are safe to apply without review.

    If several fields are sent, `suggestion_ids` takes precedence over `severity`, and `severity` over `safe`.
    """

    suggestion_ids = List(Integer(minimum=1), MAX_IDS)
    severity = List(fields.String(validate=choice(Severity)), len(Severity), metadata={"example": ["major", "minor"]})
    safe = Flag(
        validate=_refuse_false,
        metadata={"description": "True: apply all suggestions that are `safe` to apply without review."},
    )

    @validates_schema
    def require_a_choice(self, data: dict[str, Any], **_: Any) -> None:
        if not data.keys() & {"suggestion_ids", "severity", "safe"}:
            raise ValidationError("Send one of suggestion_ids, severity or safe.")


class OutcomeSchema(Schema):
    applied = fields.Integer(required=True)
    stale = fields.Integer(required=True)
    chapters = fields.List(
        fields.Integer(), required=True, metadata={"description": "Ids of the chapters that changed."}
    )
    unknown_ids = fields.List(
        fields.Integer(),
        metadata={"description": "The ids that do not belong to this report. Absent if all ids belong to it."},
    )


def shown_report(report: Report) -> dict[str, Any]:
    counts = {"by_type": dict(report.by_type), "by_severity": dict(report.by_severity)}
    return as_json(ReportSchema, report, book=report.book_id, counts=counts, summary=_summary(report))


def shown_suggestion(suggestion: Suggestion) -> dict[str, Any]:
    return as_json(
        SuggestionSchema,
        suggestion,
        report=suggestion.report_id,
        chapter=suggestion.chapter_id,
        start=suggestion.start_offset,
        end=suggestion.end_offset,
    )


def _summary(report: Report) -> str:
    total = sum(report.by_severity.values())
    chapters = "1 chapter" if report.chapters == 1 else f"{report.chapters} chapters"
    read = f"{report.done} of {chapters} read."
    match report.status:
        case ReportStatus.PENDING:
            return "Waiting to be read."
        case ReportStatus.RUNNING if report.kind is ReportKind.REVIEW:
            return "An editor is reading the book."
        case ReportStatus.RUNNING:
            return read
        case ReportStatus.ERROR:
            why = (report.failure or {}).get("message", "")
            return why if report.done == report.chapters else f"{read} {why}".rstrip()
    if report.kind is ReportKind.REVIEW and report.unread:
        return "The book was not read: this server has no language model."
    if report.kind is ReportKind.PASSAGE:
        return "One passage, rewritten as you asked."
    alone = _unread_chapters_note(report.unread)
    if not total:
        return f"{chapters} read; no {_entry(report)}s.{alone}"
    kinds = ", ".join(f"{report.by_severity[each]} {each}" for each in Severity if each in report.by_severity)
    return f"{chapters} read; {total} {_entry(report)}{'s' * (total != 1)}: {kinds}.{alone}"


def _entry(report: Report) -> str:
    return "finding" if report.kind is ReportKind.REVIEW else "suggestion"


def _unread_chapters_note(unread: Sequence[Unread]) -> str:
    """Sentences that say which chapters only the built-in rules have checked, wholly or in part, and why.

    `unread`: the chapters that the model has not read, or has not read completely.
    """
    told = ""
    for (whole, refused), some in groupby(sorted(unread, key=_kind), key=_kind):
        why = "the model refused" if refused else "the model's replies could not be used"
        told += f" Only the built-in rules checked {'' if whole else 'a part of '}{_numbers(some)}, because {why}."
    return told


def _kind(unread: Unread) -> tuple[bool, bool]:
    return unread.whole, unread.refused


def _numbers(some: Iterable[Unread]) -> str:
    numbers = sorted(each.chapter_number for each in some)
    told = ", ".join(map(str, numbers[:MAX_NUMBERS]))
    more = f" and {len(numbers) - MAX_NUMBERS} more" if len(numbers) > MAX_NUMBERS else ""
    return f"{'chapter' if len(numbers) == 1 else 'chapters'} {told}{more}"
