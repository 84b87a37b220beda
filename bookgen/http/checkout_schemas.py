"""What every checkout call takes and answers."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen.billing.checkout import HostedCheckout, ReturnUrls
from bookgen.http.edge import replies
from bookgen.http.edge.schemas import Body, Text

URL_LENGTH = 2_000


class CheckoutBody(Body):
    success_url = Text(URL_LENGTH, minimum=1, load_default=None)
    cancel_url = Text(URL_LENGTH, minimum=1, load_default=None)


class CheckoutSession(Schema):
    sessionId = fields.String(required=True)
    url = fields.String(required=True)


def return_urls(body: dict[str, Any]) -> ReturnUrls:
    return ReturnUrls(body["success_url"], body["cancel_url"])


def hosted(checkout: HostedCheckout) -> web.Response:
    return replies.json({"sessionId": checkout.session_id, "url": checkout.url})
