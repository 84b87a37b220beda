"""Plans, the caller's subscription and usage, buying and managing a plan."""

from __future__ import annotations

from dataclasses import asdict

from aiohttp import web
from marshmallow import Schema, fields

from bookgen import errors
from bookgen.billing.checkout import Upgraded
from bookgen.http.checkout_schemas import CheckoutBody, hosted, return_urls
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, DATABASE, PAYMENTS, QUOTA
from bookgen.http.edge.schemas import Text, choice, says
from bookgen.http.subscriptions_schemas import PlanShape, SubscriptionShape, plan_answer, subscription_answer
from bookgen.store import plans, subscriptions

INTERVALS = ("monthly", "yearly")


class UsagePeriodShape(Schema):
    period_start = fields.DateTime(required=True)
    period_end = fields.DateTime(required=True)
    books_created = fields.Integer(required=True)
    ai_images_generated = fields.Integer(required=True)
    ai_edits_used = fields.Integer(required=True)
    proofreading_checks_used = fields.Integer(required=True)
    words_generated = fields.Integer(required=True)


class CurrentSubscription(SubscriptionShape):
    subscription = fields.Nested(SubscriptionShape, required=True, metadata={"description": "The same once more."})
    usage = fields.Nested(UsagePeriodShape, required=True)
    limits = fields.Dict(required=True)


class BookCreationOptions(Schema):
    can_create = fields.Boolean(required=True)
    subscription_available = fields.Boolean(required=True)
    subscription_remaining = fields.Integer(required=True)
    credits_available = fields.Boolean(required=True)
    credits_balance = fields.Integer(required=True)
    suggested_source = fields.String(required=True, validate=choice(["subscription", "credits", "none"]))
    max_words = fields.Integer(required=True)


class PlanCheckout(CheckoutBody):
    plan = Text(100, minimum=1, required=True, metadata={"example": "starter"})
    interval = fields.String(load_default="monthly", validate=choice(INTERVALS))


@says(anyOf=[{"required": ["sessionId", "url"]}, {"required": ["upgraded", "redirect_url"]}])
class PlanCheckoutResult(Schema):
    """Either a session to pay in, or the news that the plan was changed at once."""

    sessionId = fields.String()
    url = fields.String()
    upgraded = fields.Boolean()
    redirect_url = fields.String()


class PortalSession(Schema):
    url = fields.String(required=True)


class InvoiceShape(Schema):
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


@docs(tags=["subscriptions"], summary="List the plans")
@response_schema(PlanShape(many=True))
async def list_plans(request: web.Request) -> web.Response:
    return replies.json([plan_answer(plan) for plan in await plans.list_active(request.app[DATABASE].http)])


@docs(tags=["subscriptions"], summary="Read your subscription, this period's usage and its limits")
@response_schema(CurrentSubscription)
@refuses(errors.NotFound)
async def read_current(request: web.Request) -> web.Response:
    db, account_id, quota = request.app[DATABASE].http, request[ACCOUNT_ID], request.app[QUOTA]
    subscription = await subscriptions.find(db, account_id)
    if subscription is None:
        raise errors.NotFound
    standing = await quota.standing(db, account_id)
    record = subscription_answer(subscription, standing)
    # The contract says that the record is contained, and gives it no name: it is found in either place.
    return replies.json(
        {
            **record,
            "subscription": record,
            "usage": asdict(await quota.usage(db, account_id)),
            "limits": standing.plan.limits,
        }
    )


@docs(tags=["subscriptions"], summary="List usage by period, the current one first")
@response_schema(UsagePeriodShape(many=True))
async def list_usage(request: web.Request) -> web.Response:
    history = await request.app[QUOTA].usage_history(request.app[DATABASE].http, request[ACCOUNT_ID])
    return replies.json([asdict(period) for period in history])


@docs(tags=["subscriptions"], summary="Read what could pay for your next book")
@response_schema(BookCreationOptions)
async def read_creation_options(request: web.Request) -> web.Response:
    options = await request.app[QUOTA].creation_options(request.app[DATABASE].http, request[ACCOUNT_ID])
    return replies.json(asdict(options))


@docs(
    tags=["subscriptions"],
    summary="Buy a plan or change to another",
    description="On a paid plan the change is applied at once, with proration, and there is no session to pay in.",
)
@json_schema(PlanCheckout)
@response_schema(PlanCheckoutResult)
@refuses(errors.Conflict, errors.PaymentsNotConfigured)
async def checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    bought = await request.app[PAYMENTS].buy_plan(
        request[ACCOUNT_ID], body["plan"], body["interval"], return_urls(body)
    )
    if isinstance(bought, Upgraded):
        return replies.json({"upgraded": True, "redirect_url": bought.redirect_url})
    return hosted(bought)


@docs(tags=["subscriptions"], summary="Open the billing portal", description="The URL works once and for a short time.")
@response_schema(PortalSession)
@refuses(errors.PaymentsNotConfigured, errors.InvalidInput)
async def open_portal(request: web.Request) -> web.Response:
    return replies.json({"url": await request.app[PAYMENTS].portal_url(request[ACCOUNT_ID])})


@docs(tags=["subscriptions"], summary="List your 20 newest invoices")
@response_schema(InvoiceShape(many=True))
async def list_payments(request: web.Request) -> web.Response:
    return replies.json([asdict(invoice) for invoice in await request.app[PAYMENTS].invoices(request[ACCOUNT_ID])])
