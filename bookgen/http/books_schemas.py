"""Shapes of books: what creates and changes one, and the three forms in which one is answered."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from bookgen.http.chapters_schemas import MAX_WORDS as MAX_CHAPTER_WORDS
from bookgen.http.chapters_schemas import Chapter
from bookgen.http.choices import LANGUAGES, TRIM_SIZES
from bookgen.http.edge.schemas import Body, Flag, Integer, Text, choice
from bookgen.models import BookStatus, FundingSource

MAX_CHAPTERS = 100
MAX_WORDS = 2**31 - 1  # what the column holds; how much of it one may have is the plan's affair
DEFAULT_WORDS = 20_000

LANGUAGE_TAG = f"^({'|'.join(language.value for language in LANGUAGES)})(-[A-Za-z0-9]{{1,8}}){{0,4}}$"


class BookCreation(Body):
    title = Text(200, minimum=1, required=True, metadata={"example": "The Lighthouse of Forgotten Names"})
    subtitle = Text(200, load_default="")
    author_name = Text(200, load_default="", metadata={"description": "Defaults to the account's name."})
    genre = Text(100, load_default="", metadata={"example": "Literary fiction"})
    target_audience = Text(200, load_default="", metadata={"example": "Adults who like quiet mysteries"})
    description = Text(
        5000, load_default="", metadata={"description": "The idea.", "example": "A keeper writes down every ship."}
    )
    style_notes = Text(2000, load_default="", metadata={"description": "Voice, tense, point of view."})
    chapter_count = Integer(minimum=1, maximum=MAX_CHAPTERS, load_default=10)
    target_word_count = Integer(
        minimum=1,
        maximum=MAX_WORDS,
        load_default=None,
        metadata={"description": "Defaults to 20,000 or the caller's maximum, whichever is less."},
    )
    trim_size = fields.String(load_default="6x9", validate=choice(size.value for size in TRIM_SIZES))
    content_language = fields.String(
        load_default="en",
        validate=validate.Regexp(LANGUAGE_TAG, error="Not a BCP 47 tag of a language in /public-settings/."),
        metadata={"description": "A BCP 47 tag of a language in /public-settings/.", "example": "en"},
    )


class BookChanges(BookCreation):
    """Any of the creation fields."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"partial": True, **kwargs})


class OutlineEntry(Body):
    id = Integer(minimum=1)
    chapter_number = Integer(minimum=1)
    title = Text(200, minimum=1)
    summary = Text(5000)
    target_word_count = Integer(minimum=1, maximum=MAX_CHAPTER_WORDS)


class OutlineChanges(Body):
    chapters = fields.List(
        fields.Nested(OutlineEntry),
        required=True,
        validate=validate.Length(max=MAX_CHAPTERS),
        metadata={"example": [{"chapter_number": 1, "title": "The First Ship"}]},
    )
    replace = Flag(load_default=False)


class ChapterSelection(Body):
    chapter_ids = fields.List(
        Integer(minimum=1), required=True, validate=validate.Length(min=1, max=MAX_CHAPTERS), metadata={"example": [1]}
    )
    instructions = Text(2000, load_default="")


class UsageSum(Schema):
    """Model work added up."""

    calls = fields.Integer(required=True)
    input_tokens = fields.Integer(required=True)
    output_tokens = fields.Integer(required=True)
    cache_write_tokens = fields.Integer(required=True)
    cache_read_tokens = fields.Integer(required=True)
    images = fields.Integer(required=True)
    cost_micros = fields.Integer(required=True, metadata={"description": "Of the calls whose price is known."})
    currency = fields.String(required=True)
    unknown_price = fields.Boolean(required=True)


class QualityFinding(Schema):
    """What the quality gate saw in a chapter and could not mend."""

    chapter_number = fields.Integer(required=True)
    kind = fields.String(required=True)
    excerpt = fields.String(required=True)
    detail = fields.String(required=True)


class Failure(Schema):
    code = fields.String(required=True)
    message = fields.String(required=True)
    stage = fields.String(required=True, allow_none=True)
    chapter_number = fields.Integer(required=True, allow_none=True)
    retryable = fields.Boolean(required=True)


class GenerationProgress(Schema):
    """GenerationStatus without its outline."""

    generation_status = fields.String(
        required=True, validate=choice(["running", "paused", "stopped", "completed", "error"])
    )
    completed_chapters = fields.Integer(required=True)
    total_chapters = fields.Integer(required=True)
    percentage = fields.Float(required=True)
    status_message = fields.String(required=True)
    task_id = fields.String(required=True)
    mode = fields.String(required=True, validate=choice(["full", "continue", "automated"]))
    current_chapter = fields.Integer(required=True, allow_none=True)
    words_written = fields.Integer(required=True)
    started_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)
    finished_at = fields.DateTime(required=True, allow_none=True)
    estimated_seconds_remaining = fields.Float(required=True, allow_none=True)
    failure = fields.Nested(Failure, required=True, allow_none=True)


class OutlineItem(Schema):
    id = fields.Integer(required=True)
    chapter_number = fields.Integer(required=True)
    title = fields.String(required=True)
    has_content = fields.Boolean(required=True)
    word_count = fields.Integer(required=True)


class GenerationStatus(GenerationProgress):
    outline = fields.List(fields.Nested(OutlineItem), required=True)


class BookListed(Schema):
    """A book without its chapters and covers."""

    id = fields.Integer(required=True)
    title = fields.String(required=True)
    subtitle = fields.String(required=True)
    author_name = fields.String(required=True)
    genre = fields.String(required=True)
    target_audience = fields.String(required=True)
    description = fields.String(required=True)
    style_notes = fields.String(required=True)
    chapter_count = fields.Integer(required=True)
    target_word_count = fields.Integer(required=True)
    trim_size = fields.String(required=True)
    content_language = fields.String(required=True)
    status = fields.String(required=True, validate=choice(BookStatus))
    generation_progress = fields.Nested(GenerationProgress, required=True, allow_none=True)
    cover_image_url = fields.String(required=True, allow_none=True)
    chapters_count = fields.Integer(required=True)
    word_count = fields.Integer(required=True)
    funding_source = fields.String(required=True, allow_none=True, validate=choice(FundingSource))
    created_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)


class Book(BookListed):
    """A book with all its chapters, in order."""

    chapters = fields.List(fields.Nested(Chapter), required=True)
    covers = fields.List(fields.Dict(), required=True)
    quality = fields.List(fields.Nested(QualityFinding), required=True)
    usage = fields.Nested(UsageSum, required=True)
    estimated_cost_micros = fields.Integer(required=True, allow_none=True)
    estimated_seconds = fields.Integer(required=True, allow_none=True)


class BookTitle(Schema):
    id = fields.Integer(required=True)
    title = fields.String(required=True)


class GenerationStart(Schema):
    message = fields.String(required=True)
    book_id = fields.Integer(required=True)
    task_id = fields.String(required=True)
    mode = fields.String(required=True, validate=choice(["full", "continue", "automated"]))


class GenerationSteered(Schema):
    message = fields.String(required=True)
    book_id = fields.Integer(required=True)
    task_id = fields.String(required=True)
    generation_status = fields.String(required=True)
