"""Schemas of statistics, the overview for staff, public settings and the support assistant."""

from __future__ import annotations

from marshmallow import Schema, fields

from bookgen.http.books_schemas import BookListedSchema, UsageSumSchema
from bookgen.http.edge.schemas import Body, List, String, choice

MAX_TURNS = 10


class TurnSchema(Body):
    role = fields.String(required=True, validate=choice(["user", "assistant"]))
    content = String(4000, minimum=1, required=True)


class QuestionSchema(Body):
    question = String(2000, minimum=1, required=True, metadata={"example": "Which formats can I export?"})
    history = List(fields.Nested(TurnSchema), MAX_TURNS, load_default=list)


class SourceSchema(Schema):
    title = fields.String(required=True)
    url = fields.String(required=True)


class AnswerSchema(Schema):
    answer = fields.String(required=True)
    sources = fields.List(fields.Nested(SourceSchema), required=True)


class StatsSchema(Schema):
    books_total = fields.Integer(required=True)
    books_by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)
    chapters_total = fields.Integer(required=True)
    chapters_written = fields.Integer(required=True)
    words_total = fields.Integer(required=True)
    words_this_period = fields.Integer(required=True)
    exports_total = fields.Integer(required=True)
    images_total = fields.Integer(required=True)
    recent_books = fields.List(fields.Nested(BookListedSchema), required=True)


class TrimSizeChoiceSchema(Schema):
    value = fields.String(required=True)
    label = fields.String(required=True)
    width_mm = fields.Float(required=True)
    height_mm = fields.Float(required=True)


class LanguageChoiceSchema(Schema):
    value = fields.String(required=True)
    label = fields.String(required=True)


class ExportFormatSchema(Schema):
    value = fields.String(
        required=True,
        metadata={"description": "The name in a plan's `export_formats`; the path is `/books/{id}/export_<value>/`."},
    )
    label = fields.String(required=True)
    use = fields.String(required=True, metadata={"description": "What the format is for, in a sentence."})
    extension = fields.String(required=True)
    content_type = fields.String(required=True)
    settings = fields.List(
        fields.String(), required=True, metadata={"description": "The export settings that can change the file."}
    )


class PublicSettingsSchema(Schema):
    site_name = fields.String(required=True)
    registration_enabled = fields.Boolean(required=True)
    email_verification_required = fields.Boolean(required=True)
    google_client_id = fields.String(required=True, allow_none=True)
    billing_enabled = fields.Boolean(required=True)
    stripe_publishable_key = fields.String(required=True, allow_none=True)
    models = fields.List(fields.String(), required=True)
    genres = fields.List(fields.String(), required=True)
    trim_sizes = fields.List(fields.Nested(TrimSizeChoiceSchema), required=True)
    languages = fields.List(fields.Nested(LanguageChoiceSchema), required=True)
    export_formats = fields.List(fields.Nested(ExportFormatSchema), required=True)
    export_settings = fields.Dict(required=True)
    features = fields.Dict(
        keys=fields.String(),
        values=fields.Boolean(),
        required=True,
        metadata={
            "description": "What is turned on: `google_sign_in`; `billing` (plans with limits); `payments` (plans, "
            "credits and add-ons can be bought); `email`; `registration`; `support_assistant`."
        },
    )


class AccountCountsSchema(Schema):
    total = fields.Integer(required=True)
    blocked = fields.Integer(required=True)


class BookCountsSchema(Schema):
    total = fields.Integer(required=True)
    by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)


class RunCountsSchema(Schema):
    by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)


class ActorCountsSchema(Schema):
    resident = fields.Integer(required=True)
    running = fields.Integer(required=True)
    queued = fields.Integer(required=True)


class ModelUsageSumSchema(UsageSumSchema):
    model = fields.String(required=True)


class TotalUsageSchema(UsageSumSchema):
    by_model = fields.List(fields.Nested(ModelUsageSumSchema), required=True)


class OverviewSchema(Schema):
    accounts = fields.Nested(AccountCountsSchema, required=True)
    books = fields.Nested(BookCountsSchema, required=True)
    runs = fields.Nested(RunCountsSchema, required=True)
    actors = fields.Nested(ActorCountsSchema, required=True)
    usage = fields.Nested(TotalUsageSchema, required=True)
