"""How an account is shown, and the answer to whoever has just signed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen.accounts import SignedIn
from bookgen.http import replies
from bookgen.http.keys import CLIENT, DATABASE, QUOTA, SITE
from bookgen.http.middleware import SESSION_COOKIE
from bookgen.models import Account, Plan
from bookgen.signup import Caller
from bookgen.store import subscriptions
from bookgen.tokens import LIFETIME_SECONDS, TokenPair, TokenType


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


class NewUser(Schema):
    id = fields.Integer(required=True)
    username = fields.String(required=True)
    email = fields.String(required=True)
    first_name = fields.String(required=True)
    last_name = fields.String(required=True)
    email_verified = fields.Boolean(required=True)


class User(NewUser):
    avatar_url = fields.String(allow_none=True, required=True)
    is_staff = fields.Boolean(required=True)
    is_superuser = fields.Boolean(required=True)
    subscription = fields.Nested(SubscriptionShape, allow_none=True, required=True)


class TokenPairShape(Schema):
    access = fields.String(required=True)
    refresh = fields.String(required=True)


class SignedInUser(Schema):
    user = fields.Nested(User, required=True)
    tokens = fields.Nested(TokenPairShape, required=True)


class Message(Schema):
    message = fields.String(required=True)


def new_user(account: Account) -> dict[str, Any]:
    return {
        "id": account.id,
        "username": account.username,
        "email": account.email,
        "first_name": account.first_name,
        "last_name": account.last_name,
        "email_verified": account.email_verified,
    }


async def user(request: web.Request, account: Account) -> dict[str, Any]:
    return {
        **new_user(account),
        "avatar_url": account.avatar_url,
        "is_staff": account.is_staff,
        "is_superuser": account.is_superuser,
        "subscription": await _subscription(request, account.id),
    }


def token_pair(tokens: TokenPair) -> dict[str, str]:
    return {"access": tokens.access, "refresh": tokens.refresh}


async def signed_in(request: web.Request, result: SignedIn) -> web.Response:
    response = replies.json({"user": await user(request, result.account), "tokens": token_pair(result.tokens)})
    response.set_cookie(
        SESSION_COOKIE,
        result.session,
        max_age=LIFETIME_SECONDS[TokenType.SESSION],
        httponly=True,
        samesite="Lax",
        secure=request.app[SITE].secure,
    )
    return response


def caller(request: web.Request) -> Caller:
    return Caller(address=request[CLIENT], fingerprint=request.headers.get("X-Browser-Fingerprint"))


async def _subscription(request: web.Request, account_id: int) -> Mapping[str, Any] | None:
    db = request.app[DATABASE].http
    subscription = await subscriptions.find(db, account_id)
    if subscription is None:
        return None
    standing = await request.app[QUOTA].standing(db, account_id)
    return {
        "id": subscription.id,
        "status": subscription.status,
        "plan": _plan(standing.plan),
        "current_period_end": standing.period.end,
    }


def _plan(plan: Plan) -> dict[str, Any]:
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
