"""Schemas of the story bible: what has been decided about a book. Every chapter is written from it."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from bookgen.http.edge.schemas import Body, List, String, as_json, choice
from bookgen.models import Book, StoryKind
from bookgen.services.bible import FIELDS, bible_of

MAX_ENTRIES, MAX_NAME, MAX_TEXT, MAX_LONG_TEXT = 50, 120, 2_000, 10_000


class EntrySchema(Body):
    name = String(MAX_NAME, minimum=1, required=True, metadata={"example": "The Public Weigher"})
    description = String(MAX_TEXT, metadata={"description": "What must never change about the place or term."})


class PersonSchema(Body):
    name = String(MAX_NAME, minimum=1, required=True, metadata={"example": "Ada Brook"})
    description = String(
        MAX_TEXT,
        metadata={
            "description": "What must never change about the person: age, looks, relations, work.",
            "example": "58.",
        },
    )
    role = String(MAX_TEXT, metadata={"description": "The person's part in the book.", "example": "The narrator."})
    wants = String(MAX_TEXT, metadata={"description": "What the person wants.", "example": "A quiet retirement."})
    speech = String(MAX_TEXT, metadata={"description": "How the person speaks.", "example": "In short sentences."})


def _text(longest: int, description: str) -> String:
    return String(longest, metadata={"description": description})


def _texts(description: str) -> List:
    return List(String(MAX_TEXT, minimum=1), MAX_ENTRIES, metadata={"description": description})


def _entries(shape: type[Schema], description: str) -> List:
    return List(fields.Nested(shape), MAX_ENTRIES, metadata={"description": description})


class BibleChangesSchema(Body):
    """The fields to change. The author's value of a field replaces the model's. An empty value removes the field."""

    kind = fields.String(
        validate=validate.OneOf([*map(str, StoryKind), ""], error=f"Must be empty or one of: {', '.join(StoryKind)}."),
        metadata={"description": "The kind of book, which decides how it is written. By default, the genre decides."},
    )
    premise = _text(MAX_TEXT, "What the book is about, and why readers keep reading.")
    voice = _text(MAX_TEXT, "Point of view, tense, tone and language.")
    voice_sample = _text(MAX_TEXT, "A paragraph in the voice that you want.")
    arc = _texts("How the story develops from beginning to end.")
    people = _entries(PersonSchema, "The characters or real people who appear in the book.")
    places = _entries(EntrySchema, "Places that appear more than once.")
    terms = _entries(EntrySchema, "Words and names that are always written the same way.")
    motifs = _texts("Images and themes that recur throughout the book.")
    avoid = _texts("What must not be in the book.")
    material = _text(MAX_LONG_TEXT, "Material to write from, such as notes on a life.")
    sources = _texts("Sources that the book may name.")
    outcome = _text(MAX_TEXT, "What readers can do or know afterwards. In a mystery: what really happened.")


class BibleSchema(Schema):
    """The whole story bible. Chapters that have not been written yet will be written from it."""

    kind = fields.String(required=True, allow_none=True, validate=choice(StoryKind))
    premise = fields.String(required=True)
    voice = fields.String(required=True)
    voice_sample = fields.String(required=True)
    arc = fields.List(fields.String(), required=True)
    people = fields.List(fields.Nested(PersonSchema), required=True)
    places = fields.List(fields.Nested(EntrySchema), required=True)
    terms = fields.List(fields.Nested(EntrySchema), required=True)
    motifs = fields.List(fields.String(), required=True)
    avoid = fields.List(fields.String(), required=True)
    material = fields.String(required=True)
    sources = fields.List(fields.String(), required=True)
    outcome = fields.String(required=True)
    authored = fields.List(
        fields.String(validate=choice(FIELDS)),
        required=True,
        metadata={"description": "The names of the fields that you wrote. The model wrote the others."},
    )


def shown_bible(book: Book) -> dict[str, Any]:
    return as_json(BibleSchema, bible_of(book))
