"""Schemas of illustrations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from marshmallow import Schema, fields

from bookgen.http.covers_schemas import media_url
from bookgen.http.edge.schemas import Body, Integer, String, as_json
from bookgen.models import Illustration

MAX_POSITION = 100_000


class IllustrationRequestSchema(Body):
    prompt = String(2000, load_default="", metadata={"description": "What the picture should show."})
    caption = String(500, load_default="")


class IllustrationChangesSchema(Body):
    caption = String(500)
    alt_text = String(500, minimum=1, metadata={"description": "Alt text for readers who cannot see the picture."})
    position = Integer(
        minimum=0, maximum=MAX_POSITION, metadata={"description": "The number of paragraphs before the picture."}
    )


class IllustrationSchema(Schema):
    """An illustration of a chapter: a JPEG that never changes."""

    id = fields.Integer(required=True)
    chapter = fields.Integer(required=True, metadata={"description": "The chapter's id."})
    caption = fields.String(required=True)
    alt_text = fields.String(required=True)
    prompt = fields.String(required=True)
    image_url = fields.String(required=True)
    position = fields.Integer(required=True, metadata={"description": "The number of paragraphs before the picture."})
    width = fields.Integer(required=True, metadata={"description": "In pixels."})
    height = fields.Integer(required=True, metadata={"description": "In pixels."})
    created_at = fields.DateTime(required=True)


def shown_illustration(illustration: Illustration, public_url: str) -> dict[str, Any]:
    return as_json(
        IllustrationSchema,
        illustration,
        chapter=illustration.chapter_id,
        image_url=media_url(public_url, illustration.image_key),
    )


def by_chapter(illustrations: Iterable[Illustration], public_url: str) -> dict[int, list[dict[str, Any]]]:
    """The illustrations as JSON, grouped by chapter id."""
    found: dict[int, list[dict[str, Any]]] = {}
    for each in illustrations:
        found.setdefault(each.chapter_id, []).append(shown_illustration(each, public_url))
    return found
