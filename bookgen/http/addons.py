"""Add-ons: list what is sold, list what the account owns, and buy."""

from __future__ import annotations

from aiohttp import web

from bookgen import errors
from bookgen.billing.addons import uses_remaining
from bookgen.http import addons_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.contract import conditional, docs, json_schema, refuses, repeatable, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.schemas import as_json
from bookgen.http.payments import return_urls, session
from bookgen.http.payments_schemas import CheckoutSessionSchema
from bookgen.store import addons


@docs("add-ons", "List the add-ons", "The list has the add-ons that you can buy now.")
@response_schema(shapes.AddonSchema(many=True))
@conditional
async def list_available(request: web.Request) -> web.Response:
    return replies.json(
        [as_json(shapes.AddonSchema, addon) for addon in await addons.list_active(request.app[SERVICES].database.http)]
    )


@docs("add-ons", "List your add-ons with this period's uses", "`uses_remaining` is -1 if there is no limit.")
@response_schema(shapes.UserAddonSchema(many=True))
@conditional
async def list_owned(request: web.Request) -> web.Response:
    db, account_id = request.app[SERVICES].database.http, request[ACCOUNT_ID]
    quota = request.app[SERVICES].quota
    period, now = await quota.period(db, account_id), quota.now()
    owned = await addons.owned(db, account_id, period.start, period.end, now)
    return replies.json(
        [shapes.shown_owned(each, period.end, uses_remaining(each, now, quota.renewal_grace)) for each in owned]
    )


@docs(
    "add-ons",
    "Buy an add-on",
    "You can buy an add-on as a monthly subscription or for a single use. Returns the URL of the payment page.",
)
@json_schema(shapes.AddonCheckoutSchema)
@response_schema(CheckoutSessionSchema)
@refuses(errors.Conflict, errors.PaymentsNotConfigured)
@repeatable
async def checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    return session(
        await request.app[SERVICES].payments.buy_addon(
            request[ACCOUNT_ID], body["addon"], body["billing_type"], return_urls(body)
        )
    )
