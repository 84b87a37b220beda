"""Add-ons: for sale, owned, bought."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen import errors
from bookgen.billing.addons import uses_remaining
from bookgen.http.checkout_schemas import CheckoutBody, CheckoutSession, hosted, return_urls
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, DATABASE, PAYMENTS, QUOTA
from bookgen.http.edge.schemas import Text, choice
from bookgen.models import Addon, OwnedAddon
from bookgen.store import addons

BILLING_TYPES = ("monthly", "per_use")


class AddonShape(Schema):
    id = fields.Integer(required=True)
    slug = fields.String(required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)
    price_monthly = fields.String(required=True, allow_none=True)
    price_per_use = fields.String(required=True, allow_none=True)
    billing_types = fields.List(fields.String(validate=choice(BILLING_TYPES)), required=True)
    is_active = fields.Boolean(required=True)


class UserAddon(Schema):
    id = fields.Integer(required=True)
    addon = fields.Nested(AddonShape, required=True)
    billing_type = fields.String(required=True)
    status = fields.String(required=True)
    uses_this_period = fields.Integer(required=True)
    uses_remaining = fields.Integer(required=True)
    has_uses_remaining = fields.Boolean(required=True)
    current_period_end = fields.DateTime(required=True)


class AddonCheckout(CheckoutBody):
    addon = Text(100, minimum=1, required=True, metadata={"example": "automated-production"})
    billing_type = fields.String(required=True, validate=choice(BILLING_TYPES), metadata={"example": "monthly"})


@docs(tags=["add-ons"], summary="List the add-ons")
@response_schema(AddonShape(many=True))
async def list_available(request: web.Request) -> web.Response:
    return replies.json([_addon(addon) for addon in await addons.list_active(request.app[DATABASE].http)])


@docs(tags=["add-ons"], summary="List your add-ons with this period's uses")
@response_schema(UserAddon(many=True))
async def list_owned(request: web.Request) -> web.Response:
    db, account_id = request.app[DATABASE].http, request[ACCOUNT_ID]
    period = await request.app[QUOTA].period(db, account_id)
    owned = await addons.owned(db, account_id, period.start, period.end)
    return replies.json([_owned(each, period.end) for each in owned])


@docs(tags=["add-ons"], summary="Buy an add-on", description="By the month, or one use.")
@json_schema(AddonCheckout)
@response_schema(CheckoutSession)
@refuses(errors.Conflict, errors.PaymentsNotConfigured)
async def checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    return hosted(
        await request.app[PAYMENTS].buy_addon(
            request[ACCOUNT_ID], body["addon"], body["billing_type"], return_urls(body)
        )
    )


def _addon(addon: Addon) -> dict[str, Any]:
    return {
        "id": addon.id,
        "slug": addon.slug,
        "name": addon.name,
        "description": addon.description,
        "price_monthly": addon.price_monthly and str(addon.price_monthly),
        "price_per_use": addon.price_per_use and str(addon.price_per_use),
        "billing_types": addon.billing_types,
        "is_active": addon.is_active,
    }


def _owned(owned: OwnedAddon, period_end: datetime) -> dict[str, Any]:
    remaining = uses_remaining(owned, datetime.now(UTC))
    return {
        "id": owned.id,
        "addon": _addon(owned.addon),
        "billing_type": owned.billing_type,
        "status": owned.status,
        "uses_this_period": owned.used_this_period,
        "uses_remaining": remaining,
        "has_uses_remaining": remaining != 0,
        "current_period_end": owned.current_period_end or period_end,
    }
