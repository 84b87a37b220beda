"""Schemas of the export settings and of the preview."""

from __future__ import annotations

import dataclasses
from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load

from bookgen.http.covers_schemas import CoverSchema
from bookgen.http.edge.schemas import Body, Flag, Integer, Number, Query, String, choice, optional_pattern
from bookgen.render.settings import CHOICES, MAX_LENGTHS, MEANINGS, PAGES_OF_A_SCAN, RANGES, ExportSettings, is_isbn


def _check_isbn(text: str) -> None:
    if text and not is_isbn(text):
        raise ValidationError("Must be a valid ISBN-10 or ISBN-13.")


class _Isbn(String):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(MAX_LENGTHS["isbn"], also=_check_isbn, **kwargs)
        # Everything except the check digit, which a regular expression cannot verify.
        self.pattern = optional_pattern("(?:[- ]*[0-9]){9}(?:[- ]*[0-9Xx]|(?:[- ]*[0-9]){4})[- ]*")


def _field(name: str, default: object) -> fields.Field[Any]:
    """The request field for the export setting `name`. Null means the default."""
    shared: dict[str, Any] = {"allow_none": True, "metadata": {"description": MEANINGS[name], "default": default}}
    if name in CHOICES:
        return fields.String(validate=choice(CHOICES[name]), **shared)
    if name in RANGES:
        minimum, maximum = RANGES[name]
        return Number(minimum=minimum, maximum=maximum, **shared)
    if name in MAX_LENGTHS:
        return _Isbn(**shared) if name == "isbn" else String(MAX_LENGTHS[name], **shared)
    return Flag(**shared)


NAMES = tuple(each.name for each in dataclasses.fields(ExportSettings))


class _SettingsBase(Body):
    @post_load
    def build(self, data: dict[str, Any], **_: Any) -> ExportSettings:
        return ExportSettings.cleaned({name: value for name, value in data.items() if value is not None})


ExportSettingsSchema = _SettingsBase.from_dict(
    {each.name: _field(each.name, each.default) for each in dataclasses.fields(ExportSettings)},
    name="ExportSettingsSchema",
)


class ChosenSettings(fields.Nested):
    """The export settings stored with a book: only the settings that the request has sent, without defaults."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(ExportSettingsSchema, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        settings: ExportSettings = super()._deserialize(value, attr, data, *args, **kwargs)
        return {name: getattr(settings, name) for name in NAMES if value.get(name) is not None}


class ExportRequestSchema(Body):
    settings = fields.Nested(
        ExportSettingsSchema,
        load_default=None,
        metadata={
            "description": "The layout of the file. Settings that you leave out keep their defaults. Without "
            "`settings`, the book's `export_settings` apply."
        },
    )


class PreviewRequestSchema(ExportRequestSchema):
    page = Integer(
        minimum=1,
        maximum=10**6,
        load_default=1,
        metadata={"description": f"Which batch of {PAGES_OF_A_SCAN} pages to return."},
    )


class PreviewPageSchema(Schema):
    number = fields.Integer(required=True)
    kind = fields.String(required=True, metadata={"description": "title, copyright, toc or chapter"})
    chapter_id = fields.Integer(required=True, allow_none=True)
    html = fields.String(required=True)


class PreviewQuerySchema(Query):
    page = Integer(
        minimum=1,
        maximum=10**6,
        from_text=True,
        load_default=None,
        metadata={"description": "Which batch of pages to return. All pages if omitted."},
    )
    page_size = Integer(
        minimum=1, maximum=200, from_text=True, load_default=20, metadata={"description": "Pages in a batch."}
    )


class PreviewDataSchema(Schema):
    book_id = fields.Integer(required=True)
    title = fields.String(required=True)
    trim_size = fields.String(required=True)
    page_width_mm = fields.Float(required=True)
    page_height_mm = fields.Float(required=True)
    page_count = fields.Integer(required=True)
    cover_image_url = fields.String(required=True, allow_none=True)
    covers = fields.List(fields.Nested(CoverSchema), required=True)
    pages = fields.List(fields.Nested(PreviewPageSchema), required=True)
