"""Payments: the billing portal, invoices, the payment processor's webhook, and the response of all checkouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aiohttp import web

from bookgen import errors
from bookgen.billing.checkout import HostedCheckout, ReturnUrls
from bookgen.http import payments_schemas as shapes
from bookgen.http.edge import bodies, replies
from bookgen.http.edge.contract import conditional, docs, refuses, repeatable, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, SERVICES


@docs("subscriptions", "Open the billing portal", "Returns the URL of the portal. The URL works once and expires soon.")
@response_schema(shapes.PortalSessionSchema)
@refuses(errors.Conflict, errors.PaymentsNotConfigured, errors.InvalidInput)
@repeatable
async def open_portal(request: web.Request) -> web.Response:
    return replies.json({"url": await request.app[SERVICES].payments.portal_url(request[ACCOUNT_ID])})


@docs(
    "subscriptions",
    "List your 20 newest invoices",
    "Each invoice has links to its page and its PDF at the payment processor.",
)
@response_schema(shapes.InvoiceSchema(many=True))
@refuses(errors.Conflict, errors.PaymentsNotConfigured)
@conditional
async def list_payments(request: web.Request) -> web.Response:
    return replies.json(
        [asdict(invoice) for invoice in await request.app[SERVICES].payments.invoices(request[ACCOUNT_ID])]
    )


@docs(
    "webhooks",
    "Receive a signed event from the payment processor",
    "Each event is applied once, even if it is repeated or arrives out of order.",
)
@response_schema(shapes.ReceivedSchema)
@refuses(errors.InvalidInput)
async def receive(request: web.Request) -> web.Response:
    """Receive a webhook event. The signature of the raw body authenticates it."""
    payload = await bodies.read(request)
    await request.app[SERVICES].payments.receive(payload, request.headers.get("Stripe-Signature", ""))
    return replies.json({"received": True})


def return_urls(body: Mapping[str, Any]) -> ReturnUrls:
    return ReturnUrls(body["success_url"], body["cancel_url"])


def session(checkout: HostedCheckout) -> web.Response:
    """The response to a checkout request: the id and the URL of the payment page."""
    return replies.json({"sessionId": checkout.session_id, "url": checkout.url})
