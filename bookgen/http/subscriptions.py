"""Subscriptions: plans, the caller's subscription and usage, and checkout."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from bookgen import errors
from bookgen.billing.checkout import Upgraded
from bookgen.http import subscriptions_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.contract import conditional, docs, json_schema, refuses, repeatable, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.payments import return_urls, session
from bookgen.models import Subscription
from bookgen.store import plans, subscriptions
from bookgen.store.database import DB


@docs(
    "subscriptions",
    "List the plans",
    "In display order. `features` are the plan's limits; -1 means unlimited.",
)
@response_schema(shapes.PlanSchema(many=True))
@conditional
async def list_plans(request: web.Request) -> web.Response:
    return replies.json(
        [shapes.shown_plan(plan) for plan in await plans.list_active(request.app[SERVICES].database.http)]
    )


@docs("subscriptions", "Read your subscription, this period's usage and its limits", "A limit of -1 means unlimited.")
@response_schema(shapes.CurrentSubscriptionSchema)
@refuses(errors.NotFound)
@conditional
async def read_current(request: web.Request) -> web.Response:
    db, account_id, quota = request.app[SERVICES].database.http, request[ACCOUNT_ID], request.app[SERVICES].quota
    subscription = errors.must_exist(await subscriptions.find(db, account_id), "subscription")
    standing = await quota.standing(db, account_id)
    record = shapes.shown_subscription(subscription, standing)
    # The API's contract does not say whether the record is nested in a field of its own, so it is in both places.
    return replies.json(
        {
            **record,
            "subscription": record,
            "usage": asdict(await quota.usage(db, account_id)),
            "limits": standing.plan.limits,
            "next_plan": await _next_plan(db, subscription),
        }
    )


@docs(
    "subscriptions", "List usage by period, the current one first", "Includes up to six earlier periods, newest first."
)
@response_schema(shapes.UsagePeriodSchema(many=True))
@conditional
async def list_usage(request: web.Request) -> web.Response:
    history = await request.app[SERVICES].quota.usage_history(request.app[SERVICES].database.http, request[ACCOUNT_ID])
    return replies.json([asdict(period) for period in history])


@docs(
    "subscriptions",
    "Read the funding options for your next book",
    "The plan's allowance is used before credits. `suggested_source` is the source that would pay for the next book.",
)
@response_schema(shapes.BookCreationOptionsSchema)
@conditional
async def read_creation_options(request: web.Request) -> web.Response:
    options = await request.app[SERVICES].quota.creation_options(
        request.app[SERVICES].database.http, request[ACCOUNT_ID]
    )
    return replies.json(asdict(options))


@docs(
    "subscriptions",
    "Buy a plan or change to another",
    "If you are on a paid plan, the change needs no checkout session. A larger plan applies immediately, with "
    "proration. A smaller plan, or monthly instead of yearly billing, applies at `effective_at`, when the paid period "
    "ends. To cancel that change, choose the current plan again.",
)
@json_schema(shapes.PlanCheckoutSchema)
@response_schema(shapes.PlanCheckoutResultSchema)
@refuses(errors.Conflict, errors.PaymentsNotConfigured)
@repeatable
async def checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    bought = await request.app[SERVICES].payments.buy_plan(
        request[ACCOUNT_ID], body["plan"], body.get("interval"), return_urls(body)
    )
    if isinstance(bought, Upgraded):
        later = {"effective_at": bought.begins_at} if bought.begins_at else {}
        return replies.json({"upgraded": True, "redirect_url": bought.redirect_url, **later})
    return session(bought)


async def _next_plan(db: DB, subscription: Subscription) -> dict[str, Any] | None:
    """The plan that begins when the paid period ends, if the account has chosen a smaller plan; otherwise None."""
    plan = subscription.next_plan and await plans.find(db, subscription.next_plan)
    if not plan:
        return None
    return {
        "slug": plan.slug,
        "name": plan.name,
        "interval": subscription.next_interval,
        "effective_at": subscription.current_period_end,
    }


async def subscription_of(request: web.Request, account_id: int) -> dict[str, Any] | None:
    """The subscription as JSON for the account's profile; None if the account has no subscription."""
    db = request.app[SERVICES].database.http
    subscription = await subscriptions.find(db, account_id)
    if subscription is None:
        return None
    return shapes.shown_subscription(subscription, await request.app[SERVICES].quota.standing(db, account_id))
