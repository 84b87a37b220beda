"""The schema of the request that creates a children's book."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields

from bookgen.http.books_schemas import EXPORT_SETTINGS, Blurb, Language
from bookgen.http.characters_schemas import Characters
from bookgen.http.edge.schemas import Body, Integer, String, choice
from bookgen.http.exports_schemas import ChosenSettings
from bookgen.models import AgeRange

MIN_PAGES, MAX_PAGES, PAGES = 8, 40, 24


class Pages(Integer):
    """An even number of pages, since a spread has two."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        pages = super()._deserialize(value, attr, data, **kwargs)
        if pages % 2:
            raise ValidationError("Must be an even number: a spread has two pages.")
        return pages


class ChildrensCreationSchema(Body):
    title = String(200, minimum=1, required=True, metadata={"example": "Pip and the Moon"})
    age_range = fields.String(required=True, validate=choice(AgeRange), metadata={"example": "3-5"})
    theme = String(500, load_default="", metadata={"example": "Being brave in the dark"})
    page_count = Pages(
        minimum=MIN_PAGES,
        maximum=MAX_PAGES,
        load_default=PAGES,
        metadata={"description": "Pages of the story. Must be even: a spread has two pages.", "multipleOf": 2},
    )
    characters = Characters(
        load_default=list,
        metadata={
            "description": "The characters, main character first: names, or objects with name and description.",
            "example": [{"name": "Pip", "description": "a small grey mouse with a red scarf"}],
        },
    )
    content_language = Language()
    blurb = Blurb()
    author_name = String(
        200,
        load_default="",
        metadata={"description": "The author's name as printed in the book. Defaults to the account's name."},
    )
    export_settings = ChosenSettings(load_default=dict, metadata={"description": EXPORT_SETTINGS})
