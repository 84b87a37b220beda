"""Shapes of what the staff sees of the whole service."""

from __future__ import annotations

from marshmallow import Schema, fields

from bookgen.http.books_schemas import UsageSumSchema


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
