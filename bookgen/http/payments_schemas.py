"""Schemas of checkouts, invoices and webhook events."""

from __future__ import annotations

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Body, String

URL_LENGTH = 2_000


class CheckoutSchema(Body):
    success_url = String(URL_LENGTH, minimum=1, load_default=None)
    cancel_url = String(URL_LENGTH, minimum=1, load_default=None)


class CheckoutSessionSchema(Schema):
    sessionId = fields.String(required=True)
    url = fields.String(required=True)


class PortalSessionSchema(Schema):
    url = fields.String(required=True)


class InvoiceSchema(Schema):
    id = fields.String(required=True)
    number = fields.String(required=True, allow_none=True)
    amount = fields.String(required=True)
    currency = fields.String(required=True)
    status = fields.String(required=True)
    created_at = fields.DateTime(required=True)
    period_start = fields.DateTime(required=True)
    period_end = fields.DateTime(required=True)
    hosted_invoice_url = fields.String(required=True, allow_none=True)
    invoice_pdf = fields.String(required=True, allow_none=True)


class ReceivedSchema(Schema):
    received = fields.Boolean(required=True)
