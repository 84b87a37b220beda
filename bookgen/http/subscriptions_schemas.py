"""Schemas of plans, subscriptions and usage."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from bookgen.billing.standing import Standing
from bookgen.http.edge.schemas import String, as_json, choice
from bookgen.http.payments_schemas import CheckoutSchema
from bookgen.models import Plan, Subscription

INTERVALS = ("monthly", "yearly")


class PlanSchema(Schema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    slug = fields.String(required=True)
    price_monthly = fields.String(required=True)
    price_yearly = fields.String(required=True)
    description = fields.String(required=True)
    is_active = fields.Boolean(required=True)
    sort_order = fields.Integer(required=True)
    features = fields.Dict(required=True)


class SubscriptionSchema(Schema):
    id = fields.Integer(required=True)
    status = fields.String(required=True)
    plan = fields.Nested(PlanSchema, required=True)
    current_period_end = fields.DateTime(required=True)


class UsagePeriodSchema(Schema):
    period_start = fields.DateTime(required=True)
    period_end = fields.DateTime(required=True)
    books_created = fields.Integer(required=True)
    ai_images_generated = fields.Integer(required=True)
    ai_edits_used = fields.Integer(required=True)
    proofreading_checks_used = fields.Integer(required=True)
    words_generated = fields.Integer(required=True)


class NextPlanSchema(Schema):
    slug = fields.String(required=True)
    name = fields.String(required=True)
    interval = fields.String(required=True, validate=choice(INTERVALS))
    effective_at = fields.DateTime(required=True)


class CurrentSubscriptionSchema(SubscriptionSchema):
    subscription = fields.Nested(
        SubscriptionSchema,
        required=True,
        metadata={"description": "The same subscription again: the same fields and values as outside this object."},
    )
    usage = fields.Nested(UsagePeriodSchema, required=True)
    limits = fields.Dict(required=True)
    next_plan = fields.Nested(
        NextPlanSchema,
        required=True,
        allow_none=True,
        metadata={"description": "The smaller plan that begins when the paid period ends, or null."},
    )


class BookCreationOptionsSchema(Schema):
    can_create = fields.Boolean(required=True)
    subscription_available = fields.Boolean(required=True)
    subscription_remaining = fields.Integer(required=True)
    credits_available = fields.Boolean(required=True)
    credits_balance = fields.Integer(required=True)
    suggested_source = fields.String(required=True, validate=choice(["subscription", "credits", "none"]))
    max_words = fields.Integer(required=True)


class PlanCheckoutSchema(CheckoutSchema):
    plan = String(100, minimum=1, required=True, metadata={"example": "starter"})
    interval = fields.String(
        validate=choice(INTERVALS),
        metadata={"description": "Defaults to the interval of the current subscription, or monthly."},
    )


class PlanCheckoutResultSchema(Schema):
    """The checkout page to pay on (`sessionId`, `url`), or what has changed if no payment page was needed."""

    sessionId = fields.String()
    url = fields.String()
    upgraded = fields.Boolean()
    redirect_url = fields.String()
    effective_at = fields.DateTime(
        metadata={
            "description": "When the change applies. Present only if the change waits for the end of the paid period."
        }
    )


def shown_plan(plan: Plan) -> dict[str, Any]:
    return as_json(PlanSchema, plan, features=plan.limits)


def shown_subscription(subscription: Subscription, standing: Standing) -> dict[str, Any]:
    """The subscription as JSON. `standing`: the plan and the period that apply to the account now."""
    return as_json(
        SubscriptionSchema,
        subscription,
        plan=shown_plan(standing.plan),
        current_period_end=standing.current_period_end,
    )
