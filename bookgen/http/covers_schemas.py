"""Schemas of covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Body, Integer, String, as_json
from bookgen.models import Cover

MAX_VARIANTS = 4


class CoverRequestSchema(Body):
    count = Integer(minimum=1, maximum=MAX_VARIANTS, load_default=3)
    style = String(
        200, load_default="", metadata={"description": "How the covers should look.", "example": "botanical"}
    )
    prompt = String(2000, load_default="", metadata={"description": "What the covers should show."})


class CoverChoiceSchema(Body):
    cover_id = Integer(required=True, metadata={"example": 1})


class CoverSchema(Schema):
    """A cover variant. Its pictures are JPEG and never change."""

    id = fields.Integer(required=True)
    style = fields.String(
        required=True, metadata={"description": "The requested style, or the name of the built-in design."}
    )
    prompt = fields.String(required=True)
    image_url = fields.String(required=True)
    thumbnail_url = fields.String(required=True)
    width = fields.Integer(required=True, metadata={"description": "In pixels."})
    height = fields.Integer(required=True, metadata={"description": "In pixels."})
    is_selected = fields.Boolean(required=True)
    created_at = fields.DateTime(required=True)


class CoversSchema(Schema):
    covers = fields.List(fields.Nested(CoverSchema), required=True)


def media_url(public_url: str, key: str) -> str:
    return f"{public_url}/media/{key}"


def shown_cover(cover: Cover, public_url: str) -> dict[str, Any]:
    return as_json(
        CoverSchema,
        cover,
        image_url=media_url(public_url, cover.image_key),
        thumbnail_url=media_url(public_url, cover.thumbnail_key),
    )


def selected_url(covers: Sequence[Cover], public_url: str) -> str | None:
    """The URL of the selected cover, or None if no cover is selected."""
    return next((media_url(public_url, cover.image_key) for cover in covers if cover.is_selected), None)
