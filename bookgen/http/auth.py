"""Registering, signing in and out, and refreshing tokens."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from marshmallow import Schema, ValidationError, fields, validates_schema

from bookgen.accounts.passwords import MAX_LENGTH, MIN_LENGTH
from bookgen.accounts.service import Registration
from bookgen.accounts.signup import USERNAME_PATTERN
from bookgen.errors import InvalidCredentials, InvalidInput, PermissionDenied, RateLimited, TokenInvalid
from bookgen.http import users
from bookgen.http.edge import replies
from bookgen.http.edge.admission import SESSION_COOKIE
from bookgen.http.edge.contract import docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNTS, BODY, LIMITER, VERDICT
from bookgen.http.edge.schemas import Body, Text, any_of, says
from bookgen.limits import Budget, LimitClass

EMAIL_CHARACTERS = 254
TOKEN_CHARACTERS = 4096
# One account may be tried as often as one address may try, but in five times as long.
GUESS_WINDOWS = 5


class Email(Text):
    def __init__(self, **kwargs: Any) -> None:
        metadata = {"format": "email", "example": "ada@example.com"}
        super().__init__(EMAIL_CHARACTERS, minimum=3, metadata=metadata, **kwargs)


class Password(Text):
    """A password that is being chosen. Nothing of it is trimmed, and it may be blanks."""

    def __init__(self, *, minimum: int = MIN_LENGTH, maximum: int = MAX_LENGTH, **kwargs: Any) -> None:
        metadata = {"format": "password", "example": "correct horse battery"}
        super().__init__(maximum, minimum=minimum, trim=False, metadata=metadata, **kwargs)
        self.pattern = r"^[^\u0000]*$"


class GivenPassword(Password):
    """A password that is being tried."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(minimum=1, maximum=1024, **kwargs)


class RegisterBody(Body):
    username = Text(150, minimum=3, required=True, metadata={"pattern": USERNAME_PATTERN, "example": "ada"})
    email = Email(required=True)
    password = Password(required=True)
    first_name = Text(150, load_default="", metadata={"example": "Ada"})
    last_name = Text(150, load_default="", metadata={"example": "Lovelace"})


@says(anyOf=any_of("email", "username"))
class LoginBody(Body):
    """A password and either an e-mail address or a username."""

    email = Email()
    username = Text(150, minimum=1)
    password = GivenPassword(required=True)

    @validates_schema
    def require_a_name(self, data: dict[str, Any], **_: Any) -> None:
        if "email" not in data and "username" not in data:
            raise ValidationError({"email": ["Send an e-mail address or a username."]})


class RefreshBody(Body):
    refresh = Text(TOKEN_CHARACTERS, minimum=1, required=True, metadata={"example": "eyJhbGciOi…"})


class GoogleBody(Body):
    access_token = Text(TOKEN_CHARACTERS, minimum=1, required=True, metadata={"example": "ya29.a0Af…"})


@says(anyOf=any_of("tokens", "email_verification_required"))
class Registered(Schema):
    """`tokens`, unless the address has to be verified first: then `email_verification_required`."""

    user = fields.Nested(users.NewUser, required=True)
    message = fields.String(required=True)
    tokens = fields.Nested(users.TokenPairShape)
    email_verification_required = fields.Boolean()


@docs(tags=["auth"], summary="Register an account")
@json_schema(RegisterBody)
@response_schema(Registered, 201)
@refuses(PermissionDenied, RateLimited)
async def register(request: web.Request) -> web.Response:
    form = Registration(**request[BODY])
    account, tokens = await request.app[ACCOUNTS].register(form, users.caller(request))
    body: dict[str, Any] = {"user": users.new_user(account)}
    if tokens is None:
        body["message"] = "Follow the link in the mail we sent you to verify your address."
        body["email_verification_required"] = True
    else:
        body["tokens"] = users.token_pair(tokens)
        body["message"] = "Welcome. Your account is ready."
    return replies.json(body, status=201)


@docs(tags=["auth"], summary="Sign in by e-mail address or username")
@json_schema(LoginBody)
@response_schema(users.SignedInUser, 200)
@refuses(InvalidCredentials, PermissionDenied, RateLimited)
async def login(request: web.Request) -> web.Response:
    body = request[BODY]
    email, username = body.get("email"), body.get("username")
    bound_guesses(request, (email or body["username"]).lower())
    result = await request.app[ACCOUNTS].login(
        email=email, username=username, password=body["password"], caller=users.caller(request)
    )
    return await users.signed_in(request, result)


@docs(tags=["auth"], summary="Exchange a refresh token for a new pair")
@json_schema(RefreshBody)
@response_schema(users.TokenPairShape, 200)
@refuses(TokenInvalid, PermissionDenied)
async def refresh_tokens(request: web.Request) -> web.Response:
    tokens = await request.app[ACCOUNTS].refresh(request[BODY]["refresh"])
    return replies.json(users.token_pair(tokens))


@docs(tags=["auth"], summary="Sign in with a Google access token")
@json_schema(GoogleBody)
@response_schema(users.SignedInUser, 200)
@refuses(InvalidCredentials, PermissionDenied, RateLimited)
async def google_login(request: web.Request) -> web.Response:
    result = await request.app[ACCOUNTS].google(request[BODY]["access_token"], users.caller(request))
    return await users.signed_in(request, result)


@docs(tags=["auth"], summary="Sign in by a mailed link")
@response_schema(users.SignedInUser, 200)
@refuses(InvalidInput, PermissionDenied)
async def magic_login(request: web.Request) -> web.Response:
    uid, token = request.match_info["uid"], request.match_info["token"]
    result = await request.app[ACCOUNTS].magic_login(uid, token, users.caller(request))
    return await users.signed_in(request, result)


@docs(tags=["auth"], summary="Sign out: forget the session cookie", description="Tokens stay good until they expire.")
@response_schema(users.Message, 200)
async def logout(request: web.Request) -> web.Response:
    response = replies.json({"message": "You are signed out."})
    response.del_cookie(SESSION_COOKIE, httponly=True, samesite="Lax")
    return response


def bound_guesses(request: web.Request, name: str) -> None:
    """Takes one of the tries at an account's password, wherever they come from."""
    limiter = request.app[LIMITER]
    per_address = limiter.budgets[LimitClass.AUTH]
    budget = Budget(per_address.capacity, per_address.seconds * GUESS_WINDOWS)
    verdict = limiter.take_from("guesses", name, budget)
    if not verdict.allowed:
        request[VERDICT] = verdict
        raise RateLimited(
            "Too many tries at this password.",
            retry_after=verdict.retry_after,
            limit=verdict.limit,
            remaining=0,
            reset_seconds=verdict.reset,
            scope="login",
        )
