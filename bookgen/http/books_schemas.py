"""Schemas of books: creating and changing a book, and the forms in which responses show a book."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load, validate

from bookgen.http.chapters_schemas import ChapterSchema
from bookgen.http.characters_schemas import Characters
from bookgen.http.covers_schemas import CoverSchema
from bookgen.http.edge.schemas import Body, Integer, Query, String, as_json, choice
from bookgen.http.exports_schemas import ChosenSettings
from bookgen.http.generation_schemas import GenerationProgressSchema
from bookgen.models import (
    LANGUAGES,
    MAX_BLURB_CHARACTERS,
    AgeRange,
    Book,
    BookKind,
    BookStatus,
    Chapter,
    Estimate,
    FundingSource,
    is_verse,
)
from bookgen.render.trim import DEFAULT_TRIM, TRIMS
from bookgen.services.editing import DEFAULT_CHAPTERS, WORDS_A_CHAPTER
from bookgen.services.revised_outline import MAX_CHAPTERS

MAX_WORDS = 2**31 - 1  # the largest value of the column; the plan sets the actual limit
DEFAULT_WORDS = 20_000
MAX_AUTHOR_NAME = 200  # characters

# RFC 5646: language, extended language, script, region, variants, extensions, private use; in any case.
LANGUAGE_TAG = (
    f"({'|'.join(''.join(f'[{letter.upper()}{letter}]' for letter in tag) for tag in LANGUAGES)})"
    "(-[A-Za-z]{3})?(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3})){0,3}"
    "(-[0-9A-WYZa-wyz](-[A-Za-z0-9]{2,8}){1,3}){0,2}(-[Xx](-[A-Za-z0-9]{1,8}){1,3})?"
)

# Suggestions only: a genre is free text.
GENRES = (
    "Literary fiction", "Science fiction", "Fantasy", "Mystery", "Thriller", "Romance", "Historical fiction", "Horror",
    "Young adult", "Children's", "Short stories", "Poetry", "Stage play", "Memoir", "Biography", "History",
    "Popular science", "Business", "Self-help", "Health", "Cookery", "Travel", "Essay", "Philosophy", "How-to",
)  # fmt: skip


class Language(fields.String):
    """A language tag that a book may have. Its language subtag is stored in lower case."""

    def __init__(self) -> None:
        super().__init__(
            load_default="en",
            validate=validate.Regexp(
                rf"{LANGUAGE_TAG}\Z",
                error="Must be the tag of an offered language, such as en or pt-BR (GET /public-settings/).",
            ),
            metadata={
                "description": "The BCP 47 tag of one of the `languages` in `GET /public-settings/`.",
                "example": "en",
                "pattern": f"^{LANGUAGE_TAG}$",  # as JSON Schema writes it
            },
        )

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        language, dash, rest = str(super()._deserialize(value, attr, data, **kwargs)).partition("-")
        return f"{language.lower() if language.isascii() else language}{dash}{rest}"


class Blurb(String):
    def __init__(self) -> None:
        super().__init__(
            MAX_BLURB_CHARACTERS,
            load_default="",
            metadata={
                "description": "The text on the back cover and in shops. If empty, it is drafted from the finished "
                "book.",
                "example": "Every night the keeper writes down each ship that passes. Tonight one comes back.",
            },
        )


EXPORT_SETTINGS = (
    "The layout of the book's files, for exports that send no `settings`. Replaced as a whole: send all settings that "
    "differ from their defaults."
)


class BookCreationSchema(Body):
    title = String(200, minimum=1, required=True, metadata={"example": "The Lighthouse of Forgotten Names"})
    subtitle = String(200, load_default="")
    author_name = String(
        MAX_AUTHOR_NAME,
        load_default="",
        metadata={"description": "The author's name as printed in the book. Defaults to the account's name."},
    )
    genre = String(100, load_default="", metadata={"example": "Literary fiction"})
    target_audience = String(200, load_default="", metadata={"example": "Adults who like quiet mysteries"})
    description = String(
        5000,
        load_default="",
        metadata={
            "description": "The idea of the book. It is never printed.",
            "example": "A keeper writes down every ship.",
        },
    )
    blurb = Blurb()
    style_notes = String(2000, load_default="", metadata={"description": "Voice, tense, point of view."})
    chapter_count = Integer(
        minimum=1,
        maximum=MAX_CHAPTERS,
        metadata={
            "description": (
                f"The number of chapters. Defaults to {DEFAULT_CHAPTERS}, or to one chapter per {WORDS_A_CHAPTER} "
                "words if that is fewer."
            )
        },
    )
    target_word_count = Integer(
        minimum=1,
        maximum=MAX_WORDS,
        metadata={
            "description": "The length of the book in words; at least one word per chapter. Defaults to 20,000, or to "
            "your plan's maximum if that is less."
        },
    )
    trim_size = fields.String(load_default=DEFAULT_TRIM, validate=choice(TRIMS))
    content_language = Language()
    export_settings = ChosenSettings(load_default=dict, metadata={"description": EXPORT_SETTINGS})


class BookChangesSchema(BookCreationSchema):
    """The fields to change: any field of a new book, and the fields that only children's books have."""

    theme = String(
        500,
        metadata={
            "description": "Children's books only: what the story is about, or its message. Used when the next "
            "outline is generated."
        },
    )
    characters = Characters(
        metadata={
            "description": (
                "Children's books only: the characters, main character first. Used for the next outline and pictures."
            )
        }
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"partial": True, **kwargs})


class UsageSumSchema(Schema):
    """The total usage of AI models, such as tokens and cost."""

    calls = fields.Integer(required=True)
    input_tokens = fields.Integer(required=True)
    output_tokens = fields.Integer(required=True)
    cache_write_tokens = fields.Integer(required=True)
    cache_read_tokens = fields.Integer(required=True)
    images = fields.Integer(required=True)
    cost_micros = fields.Integer(
        required=True,
        metadata={"description": "Cost of the calls whose price is known, in millionths of `currency`."},
    )
    currency = fields.String(required=True)
    unknown_price = fields.Boolean(required=True)


class CharacterSchema(Schema):
    """A character of a children's book."""

    name = fields.String(required=True)
    description = fields.String(required=True)


class QualityFindingSchema(Schema):
    """Something that the quality gate (the automatic checks of a chapter) found or changed in the model's text."""

    chapter_number = fields.Integer(required=True)
    kind = fields.String(required=True)
    excerpt = fields.String(required=True)
    detail = fields.String(required=True)
    before = fields.String(
        metadata={"description": "The passage as the model wrote it. Present only if automatic checks changed it."}
    )
    after = fields.String(
        metadata={
            "description": "The passage after the change; empty if it was removed. Present only together with `before`."
        }
    )
    follows = fields.String(
        metadata={
            "description": (
                "The last words before the passage; empty at the beginning of the chapter. Present only together with "
                "`before`."
            )
        }
    )
    revision = fields.Integer(
        metadata={
            "description": (
                "The id of the revision with the model's original chapter. Present only together with `before`."
            )
        }
    )


class BookListedSchema(Schema):
    """A book without its chapters and covers."""

    id = fields.Integer(required=True)
    title = fields.String(required=True)
    subtitle = fields.String(required=True)
    author_name = fields.String(required=True)
    genre = fields.String(required=True)
    target_audience = fields.String(required=True)
    description = fields.String(required=True)
    blurb = fields.String(required=True)
    style_notes = fields.String(required=True)
    chapter_count = fields.Integer(required=True)
    target_word_count = fields.Integer(required=True)
    trim_size = fields.String(required=True, validate=choice(TRIMS))
    content_language = fields.String(required=True)
    status = fields.String(required=True, validate=choice(BookStatus))
    generation_progress = fields.Nested(GenerationProgressSchema, required=True, allow_none=True)
    cover_image_url = fields.String(required=True, allow_none=True)
    chapters_count = fields.Integer(required=True)
    word_count = fields.Integer(required=True)
    funding_source = fields.String(required=True, allow_none=True, validate=choice(FundingSource))
    kind = fields.String(required=True, validate=choice(BookKind))
    age_range = fields.String(required=True, allow_none=True, validate=choice(AgeRange))
    theme = fields.String(required=True)
    characters = fields.List(fields.Nested(CharacterSchema), required=True)
    page_count = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"description": "Children's books only: the number of pages, two per spread. Otherwise null."},
    )
    export_settings = ChosenSettings(
        required=True,
        metadata={"description": "The export settings that the author has chosen. All others have their defaults."},
    )
    created_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)


class BookSchema(BookListedSchema):
    """A book with all its chapters, in order."""

    chapters = fields.List(fields.Nested(ChapterSchema), required=True)
    covers = fields.List(fields.Nested(CoverSchema), required=True)
    character_sheet_url = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Children's books only: the reference picture of the main character."},
    )
    quality = fields.List(fields.Nested(QualityFindingSchema), required=True)
    font_warning = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "What to install if a letter of the title is in no font of this server. Otherwise null."
        },
    )
    is_verse = fields.Boolean(
        required=True,
        metadata={"description": "Whether the book is verse: its texts and files keep every line break and indent."},
    )
    usage = fields.Nested(UsageSumSchema, required=True)
    estimated_cost_micros = fields.Integer(required=True, allow_none=True)
    estimated_seconds = fields.Integer(required=True, allow_none=True)


CHAPTERS = "chapters"
MINIMAL_FIELDS = frozenset(BookListedSchema().fields)  # of an answer with `Prefer: return=minimal`
_NAMES = [name for name in BookSchema().fields if name != CHAPTERS]
_NAMES += [f"{CHAPTERS}.{name}" for name in ChapterSchema().fields]
_NAME = f"({'|'.join(re.escape(name) for name in (*_NAMES, CHAPTERS))})"


def _check_fields(text: str) -> None:
    unknown = sorted(set(text.split(",")) - {*_NAMES, CHAPTERS})
    if unknown:
        raise ValidationError(f"No such fields: {', '.join(unknown)[:200]}. Choose from: {', '.join(_NAMES)}.")


class FieldNames(String):
    """Names of fields of a book and of its chapters, separated by commas."""

    def __init__(self) -> None:
        description = (
            "The fields to include in the answer, separated by commas, such as "
            "`title,status,chapters.id,chapters.title`. All of them if omitted."
        )
        super().__init__(2_000, minimum=1, trim=False, also=_check_fields, metadata={"description": description})
        self.pattern = f"^{_NAME}(,{_NAME})*$"


class BookViewQuerySchema(Query):
    fields = FieldNames()  # type: ignore[assignment]  # marshmallow takes declared fields out of the class

    @post_load
    def whole_chapters(self, asked: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Replace the name `chapters` in `fields` by the names of all chapter fields. Returns the query."""
        names = asked.get("fields", "").split(",")
        if CHAPTERS in names:
            names += [f"{CHAPTERS}.{name}" for name in ChapterSchema().fields]
            asked = {**asked, "fields": ",".join(name for name in names if name != CHAPTERS)}
        return asked


class BookTitleSchema(Schema):
    id = fields.Integer(required=True)
    title = fields.String(required=True)


@dataclass(frozen=True, slots=True)
class BookArtwork:
    """A book's covers and illustrations as JSON. `illustrations`: the illustrations of each chapter, by chapter id."""

    cover_image_url: str | None = None
    covers: Sequence[Mapping[str, Any]] = ()
    illustrations: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    character_sheet_url: str | None = None


def shown_in_list(
    book: Book, chapters_count: int, word_count: int, progress: dict[str, Any] | None, cover_image_url: str | None
) -> dict[str, Any]:
    """The book as JSON for a list, as in `BookListedSchema`. `progress`: None if the book was never being written."""
    return as_json(
        BookListedSchema,
        book,
        generation_progress=progress,
        cover_image_url=cover_image_url,
        chapters_count=chapters_count,
        word_count=word_count,
        page_count=2 * chapters_count if book.kind is BookKind.CHILDRENS else None,
    )


def shown_whole(
    book: Book,
    chapters: Sequence[Chapter],
    progress: dict[str, Any] | None,
    quality: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Any],
    artwork: BookArtwork,
    font_warning: str | None = None,
) -> dict[str, Any]:
    """The book as JSON, as in `BookSchema`, but without the chapters and the fields that `estimated` returns."""
    words = sum(chapter.word_count for chapter in chapters)
    return {
        **shown_in_list(book, len(chapters), words, progress, artwork.cover_image_url),
        "covers": artwork.covers,
        "character_sheet_url": artwork.character_sheet_url,
        "quality": quality,
        "font_warning": font_warning,
        "is_verse": is_verse(book),
        "usage": usage,
    }


def estimated(estimate: Estimate | None) -> dict[str, Any]:
    """The JSON fields with the estimated cost and time of writing the whole book.

    Both fields are null if `estimate` is None, because the book has no outline.
    """
    return {
        "estimated_cost_micros": estimate and estimate.cost_micros,
        "estimated_seconds": estimate and estimate.seconds,
    }
