"""How an account is shown, and the answer to whoever has just signed in."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen.accounts.service import SignedIn
from bookgen.accounts.signup import Caller
from bookgen.accounts.tokens import LIFETIME_SECONDS, TokenPair, TokenType
from bookgen.http.edge import clients, replies
from bookgen.http.edge.admission import SESSION_COOKIE
from bookgen.http.edge.keys import SITE
from bookgen.http.subscriptions_schemas import SubscriptionShape, subscription_of
from bookgen.models import Account


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
        "subscription": await subscription_of(request, account.id),
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
    return Caller(
        address=clients.address(request, request.app), fingerprint=request.headers.get("X-Browser-Fingerprint")
    )
