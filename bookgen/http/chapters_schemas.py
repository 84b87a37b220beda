"""Schemas of chapters and their revisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marshmallow import Schema, ValidationError, fields, validates_schema

from bookgen.http.edge.schemas import Body, Integer, Query, String, as_json, choice
from bookgen.http.illustrations_schemas import IllustrationSchema
from bookgen.http.plans_schemas import ChapterPlanSchema
from bookgen.models import Chapter, ChapterStatus, RevisionOrigin

# Half of the largest body, enough for a chapter of a hundred thousand words.
MAX_CONTENT = 1_000_000
MAX_CHAPTER_WORDS = 500_000
MAX_PASSAGE = 20_000  # characters; instead of a longer passage, the whole chapter should be rewritten


class ChapterQuerySchema(Query):
    book = Integer(minimum=1, from_text=True, load_default=None, metadata={"description": "The book's id."})


class ChapterChangesSchema(Body):
    title = String(200, minimum=1)
    summary = String(5000)
    content = String(
        MAX_CONTENT,
        trim=False,
        metadata={"description": "Markdown. Whitespace alone counts as empty.", "example": "The lamp went out."},
    )
    target_word_count = Integer(minimum=1, maximum=MAX_CHAPTER_WORDS)


class PassageSchema(Body):
    """A passage of the chapter's content: the characters from `start` up to, but not including, `end`."""

    start = Integer(
        minimum=0,
        maximum=MAX_CONTENT,
        required=True,
        metadata={"description": "Where the passage begins: the number of characters before it in the chapter."},
    )
    end = Integer(
        minimum=1,
        maximum=MAX_CONTENT,
        required=True,
        metadata={
            "description": (
                "Where the passage ends: the number of characters from the beginning of the chapter to the end of the "
                "passage."
            )
        },
    )

    @validates_schema
    def require_order(self, data: dict[str, Any], **_: Any) -> None:
        if data["end"] <= data["start"]:
            raise ValidationError({"end": [f"Must be greater than `start` ({data['start']})."]})
        if data["end"] - data["start"] > MAX_PASSAGE:
            raise ValidationError(
                {"end": [f"A passage has at most {MAX_PASSAGE:,} characters. Rewrite the chapter instead."]}
            )


class RewriteSchema(Body):
    instructions = String(
        2000, load_default="", metadata={"description": "What to change.", "example": "Tell it from Ada's view."}
    )
    passage = fields.Nested(
        PassageSchema,
        load_default=None,
        allow_none=True,
        metadata={
            "description": "Rewrite only this passage. The chapter stays as it is, and the answer is a suggestion."
        },
    )


class ChapterSchema(Schema):
    id = fields.Integer(required=True)
    book = fields.Integer(required=True, metadata={"description": "The book's id."})
    chapter_number = fields.Integer(required=True)
    title = fields.String(required=True)
    summary = fields.String(required=True)
    plan = fields.Nested(ChapterPlanSchema, required=True)
    content = fields.String(required=True, metadata={"description": "Markdown; empty until the chapter is written."})
    word_count = fields.Integer(required=True)
    target_word_count = fields.Integer(required=True)
    status = fields.String(required=True, validate=choice(ChapterStatus))
    is_sample = fields.Boolean(
        required=True,
        metadata={"description": "True for sample text, which no language model wrote."},
    )
    illustrations = fields.List(fields.Nested(IllustrationSchema), required=True)
    written_at = fields.DateTime(
        required=True,
        allow_none=True,
        metadata={"description": "When a model wrote the text. Null if no model wrote it, or if the time is unknown."},
    )
    created_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)


class RevisionListedSchema(Schema):
    id = fields.Integer(required=True)
    origin = fields.String(
        required=True, validate=choice(RevisionOrigin), metadata={"description": "What replaced this text."}
    )
    word_count = fields.Integer(required=True)
    created_at = fields.DateTime(required=True)


class RevisionSchema(RevisionListedSchema):
    content = fields.String(required=True)
    title = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The title that the model proposed, if the author's was kept instead; otherwise null."
        },
    )
    summary = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The summary that the model proposed, if the author's was kept instead; otherwise null."
        },
    )


def shown_chapter(chapter: Chapter, illustrations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A chapter as JSON. `illustrations`: the chapter's illustrations, as JSON already."""
    return as_json(ChapterSchema, chapter, book=chapter.book_id, illustrations=list(illustrations))
