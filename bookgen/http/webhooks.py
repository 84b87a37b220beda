"""Events from the payment processor. Its signature over the raw bytes is the check."""

from __future__ import annotations

from aiohttp import web
from marshmallow import Schema, fields

from bookgen import errors
from bookgen.http.edge import bodies, replies
from bookgen.http.edge.contract import docs, refuses, response_schema
from bookgen.http.edge.keys import PAYMENTS


class Received(Schema):
    received = fields.Boolean(required=True)


@docs(tags=["webhooks"], summary="Receive a signed event from the payment processor")
@response_schema(Received)
@refuses(errors.InvalidInput)
async def receive(request: web.Request) -> web.Response:
    payload = await bodies.read(request)
    await request.app[PAYMENTS].receive(payload, request.headers.get("Stripe-Signature", ""))
    return replies.json({"received": True})
