"""Shapes of statistics, public settings and the support assistant."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from bookgen.http.books_schemas import BookListed
from bookgen.http.edge.schemas import Body, Text, choice

MAX_TURNS = 10


class Turn(Body):
    role = fields.String(required=True, validate=choice(["user", "assistant"]))
    content = Text(4000, minimum=1, required=True)


class Question(Body):
    question = Text(2000, minimum=1, required=True, metadata={"example": "Which formats can I export?"})
    history = fields.List(fields.Nested(Turn), load_default=list, validate=validate.Length(max=MAX_TURNS))


class Source(Schema):
    title = fields.String(required=True)
    url = fields.String(required=True)


class Answer(Schema):
    answer = fields.String(required=True)
    sources = fields.List(fields.Nested(Source), required=True)


class Stats(Schema):
    books_total = fields.Integer(required=True)
    books_by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)
    chapters_total = fields.Integer(required=True)
    chapters_written = fields.Integer(required=True)
    words_total = fields.Integer(required=True)
    words_this_period = fields.Integer(required=True)
    exports_total = fields.Integer(required=True)
    images_total = fields.Integer(required=True)
    recent_books = fields.List(fields.Nested(BookListed), required=True)


class TrimSizeChoice(Schema):
    value = fields.String(required=True)
    label = fields.String(required=True)
    width_mm = fields.Float(required=True)
    height_mm = fields.Float(required=True)


class LanguageChoice(Schema):
    value = fields.String(required=True)
    label = fields.String(required=True)


class PublicSettings(Schema):
    site_name = fields.String(required=True)
    registration_enabled = fields.Boolean(required=True)
    email_verification_required = fields.Boolean(required=True)
    google_client_id = fields.String(required=True, allow_none=True)
    billing_enabled = fields.Boolean(required=True)
    stripe_publishable_key = fields.String(required=True, allow_none=True)
    models = fields.List(fields.String(), required=True)
    genres = fields.List(fields.String(), required=True)
    trim_sizes = fields.List(fields.Nested(TrimSizeChoice), required=True)
    languages = fields.List(fields.Nested(LanguageChoice), required=True)
    export_settings = fields.Dict(required=True)
    features = fields.Dict(keys=fields.String(), values=fields.Boolean(), required=True)
