"""The schema of the declaration of who made a book: people or AI models."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from bookgen.services.declaration import Declaration, origin_of

ORIGINS = ("model", "human", "edited", "sample")


class ChapterOriginSchema(Schema):
    chapter_number = fields.Integer(required=True)
    origin = fields.String(required=True, validate=validate.OneOf(ORIGINS))


class TextOriginSchema(Schema):
    model_words = fields.Integer(
        required=True, metadata={"description": "The number of words that a model wrote and nobody changed."}
    )
    human_words = fields.Integer(
        required=True,
        metadata={
            "description": "The number of words that people wrote, in paragraphs that contain no words by a model."
        },
    )
    edited_words = fields.Integer(
        required=True,
        metadata={
            "description": (
                "The number of words that people changed or added, in paragraphs that contain words by a model."
            )
        },
    )
    sample_words = fields.Integer(
        required=True, metadata={"description": "The number of words of sample text, which no language model wrote."}
    )
    chapters = fields.List(fields.Nested(ChapterOriginSchema), required=True)


class ImageOriginSchema(Schema):
    model = fields.Integer(
        required=True,
        metadata={"description": "The number of pictures, including the cover, that an image model made."},
    )
    human = fields.Integer(required=True)
    drawn = fields.Integer(
        required=True, metadata={"description": "The number of pictures that bookgen drew without an image model."}
    )


class DeclarationSchema(Schema):
    text = fields.Nested(TextOriginSchema, required=True)
    images = fields.Nested(ImageOriginSchema, required=True)
    translation = fields.String(
        required=True, allow_none=True, metadata={"description": "The model that translated the book, if any."}
    )
    models = fields.List(
        fields.String(), required=True, metadata={"description": "The models that worked on the book."}
    )
    statement = fields.String(required=True, metadata={"description": "The declaration in sentences."})


def shown_declaration(declaration: Declaration) -> dict[str, Any]:
    words, pictures = declaration.text, len(declaration.pictures)
    return {
        "text": {
            "model_words": words.model,
            "human_words": words.human,
            "edited_words": words.edited,
            "sample_words": words.sample,
            "chapters": [
                {"chapter_number": number, "origin": origin_of(each)} for number, each in declaration.words.items()
            ],
        },
        "images": {
            "model": declaration.painted,
            "human": pictures - declaration.painted - declaration.drawn,
            "drawn": declaration.drawn,
        },
        "translation": declaration.translator,
        "models": list(declaration.models),
        "statement": declaration.statement,
    }
