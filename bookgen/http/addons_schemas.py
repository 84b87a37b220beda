"""Schemas of add-ons: those for sale, and those that an account owns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import String, as_json, choice
from bookgen.http.payments_schemas import CheckoutSchema
from bookgen.models import OwnedAddon

BILLING_TYPES = ("monthly", "per_use")


class AddonSchema(Schema):
    id = fields.Integer(required=True)
    slug = fields.String(required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)
    price_monthly = fields.String(required=True, allow_none=True)
    price_per_use = fields.String(required=True, allow_none=True)
    billing_types = fields.List(fields.String(validate=choice(BILLING_TYPES)), required=True)
    is_active = fields.Boolean(required=True)


class UserAddonSchema(Schema):
    id = fields.Integer(required=True)
    addon = fields.Nested(AddonSchema, required=True)
    billing_type = fields.String(required=True)
    status = fields.String(required=True)
    uses_this_period = fields.Integer(required=True)
    uses_remaining = fields.Integer(required=True)
    has_uses_remaining = fields.Boolean(required=True)
    current_period_end = fields.DateTime(required=True)


class AddonCheckoutSchema(CheckoutSchema):
    addon = String(100, minimum=1, required=True, metadata={"example": "automated-production"})
    billing_type = fields.String(required=True, validate=choice(BILLING_TYPES), metadata={"example": "monthly"})


def shown_owned(owned: OwnedAddon, period_end: datetime, remaining: int) -> dict[str, Any]:
    """An owned add-on as JSON. `remaining`: how many uses are left; -1 means unlimited.

    `period_end`: the end of the account's billing period. It is shown if the add-on has no billing period of its own.
    """
    return as_json(
        UserAddonSchema,
        owned,
        addon=as_json(AddonSchema, owned.addon),
        uses_this_period=owned.used_this_period,
        uses_remaining=remaining,
        has_uses_remaining=remaining != 0,
        current_period_end=owned.current_period_end or period_end,
    )
