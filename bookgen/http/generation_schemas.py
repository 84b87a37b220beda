"""Schemas of runs (the writing of a book): the status, and the responses to start, pause, resume and stop."""

from __future__ import annotations

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Body, Flag, choice
from bookgen.models import RunMode, RunPhase, RunStatus

SHOWN_STATUSES = [status for status in RunStatus if status is not RunStatus.QUEUED]
PHASES = [phase for phase in RunPhase if phase not in (RunPhase.REVIEW, RunPhase.CORRECTIONS)]


class ProductionSchema(Body):
    again = Flag(
        load_default=False,
        metadata={"description": "Whether to write a finished book again. Its current texts become revisions."},
    )
    cover = Flag(
        load_default=True, metadata={"description": "Whether to create a cover if the book has none selected."}
    )


class FailureSchema(Schema):
    code = fields.String(required=True)
    message = fields.String(required=True)
    stage = fields.String(required=True, allow_none=True)
    chapter_number = fields.Integer(required=True, allow_none=True)
    retryable = fields.Boolean(required=True)


class GenerationProgressSchema(Schema):
    """The status of a run: a `GenerationStatusSchema` without the outline."""

    generation_status = fields.String(required=True, validate=choice(SHOWN_STATUSES))
    completed_chapters = fields.Integer(
        required=True,
        metadata={
            "description": "The number of chapters with text. While a run writes a completed book again: the number of "
            "chapters that it has replaced."
        },
    )
    total_chapters = fields.Integer(required=True, metadata={"description": "The number of chapters in the outline."})
    percentage = fields.Float(required=True)
    status_message = fields.String(required=True)
    task_id = fields.String(required=True)
    mode = fields.String(required=True, validate=choice(RunMode))
    phase = fields.String(required=True, validate=choice(PHASES))
    queue_position = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"description": "The place among the account's waiting runs; null if the run is not waiting."},
    )
    current_chapter = fields.Integer(required=True, allow_none=True)
    words_written = fields.Integer(
        required=True,
        metadata={"description": "The words of all chapters and of the finished parts of the chapter in progress."},
    )
    started_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)
    finished_at = fields.DateTime(required=True, allow_none=True)
    estimated_seconds_remaining = fields.Float(
        required=True,
        allow_none=True,
        metadata={
            "description": "Seconds until the run is completed, including the wait in the queue. Estimated from the "
            "speed of the model and, once the run has written a chapter, from its own pace. Null if the run is paused, "
            "has ended, or waits for the operator."
        },
    )
    failure = fields.Nested(FailureSchema, required=True, allow_none=True)


class OutlineItemSchema(Schema):
    id = fields.Integer(required=True)
    chapter_number = fields.Integer(required=True)
    title = fields.String(required=True)
    has_content = fields.Boolean(required=True)
    word_count = fields.Integer(required=True)
    is_new = fields.Boolean(
        required=True,
        metadata={"description": "Whether the model has written the chapter's text since the run started."},
    )


class GenerationStatusSchema(GenerationProgressSchema):
    outline = fields.List(fields.Nested(OutlineItemSchema), required=True)


class GenerationStartSchema(Schema):
    message = fields.String(required=True)
    book_id = fields.Integer(required=True)
    task_id = fields.String(required=True)
    mode = fields.String(required=True, validate=choice(RunMode))


class GenerationSteeredSchema(Schema):
    message = fields.String(required=True)
    book_id = fields.Integer(required=True)
    task_id = fields.String(required=True)
    generation_status = fields.String(required=True)
