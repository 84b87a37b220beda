"""How a plan and a subscription are shown."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen.billing.standing import Standing
from bookgen.http.edge.keys import DATABASE, QUOTA
from bookgen.models import Plan, Subscription
from bookgen.store import subscriptions


class PlanShape(Schema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    slug = fields.String(required=True)
    price_monthly = fields.String(required=True)
    price_yearly = fields.String(required=True)
    description = fields.String(required=True)
    is_active = fields.Boolean(required=True)
    sort_order = fields.Integer(required=True)
    features = fields.Dict(required=True)


class SubscriptionShape(Schema):
    id = fields.Integer(required=True)
    status = fields.String(required=True)
    plan = fields.Nested(PlanShape, required=True)
    current_period_end = fields.DateTime(required=True)


def plan_answer(plan: Plan) -> dict[str, Any]:
    return {
        "id": plan.id,
        "name": plan.name,
        "slug": plan.slug,
        "price_monthly": str(plan.price_monthly),
        "price_yearly": str(plan.price_yearly),
        "description": plan.description,
        "is_active": plan.is_active,
        "sort_order": plan.sort_order,
        "features": plan.limits,
    }


def subscription_answer(subscription: Subscription, standing: Standing) -> dict[str, Any]:
    """The subscription with the plan that it entitles to now."""
    return {
        "id": subscription.id,
        "status": subscription.status,
        "plan": plan_answer(standing.plan),
        "current_period_end": standing.current_period_end,
    }


async def subscription_of(request: web.Request, account_id: int) -> dict[str, Any] | None:
    db = request.app[DATABASE].http
    subscription = await subscriptions.find(db, account_id)
    if subscription is None:
        return None
    return subscription_answer(subscription, await request.app[QUOTA].standing(db, account_id))
