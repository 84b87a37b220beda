"""Schemas of the export settings and of the preview."""

from __future__ import annotations

from marshmallow import Schema, fields

from bookgen.http.covers_schemas import CoverSchema
from bookgen.http.edge.schemas import Body


class ExportRequestSchema(Body):
    settings = fields.Dict(keys=fields.String(), load_default=dict, metadata={"description": "See public-settings."})


class PreviewPageSchema(Schema):
    number = fields.Integer(required=True)
    kind = fields.String(required=True, metadata={"description": "title, copyright, toc or chapter"})
    chapter_id = fields.Integer(required=True, allow_none=True)
    html = fields.String(required=True)


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
