"""Registering, signing in and out, tokens, passwords, and the caller's own profile."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from bookgen.accounts.service import Registration, SignedIn
from bookgen.accounts.signup import Caller
from bookgen.accounts.tokens import LIFETIME_SECONDS, TokenType
from bookgen.errors import InvalidCredentials, InvalidInput, PermissionDenied, RateLimited, TokenInvalid
from bookgen.http.auth_schemas import (
    GoogleLoginSchema,
    LoginSchema,
    MessageSchema,
    NewUserSchema,
    PasswordChangeSchema,
    PasswordResetRequestSchema,
    PasswordResetSchema,
    ProfileChangesSchema,
    RegisteredSchema,
    RegistrationSchema,
    SignedInSchema,
    TokenPairSchema,
    TokenRefreshSchema,
    UpdatedProfileSchema,
    UserSchema,
)
from bookgen.http.edge import clients, replies
from bookgen.http.edge.admission import SESSION_COOKIE
from bookgen.http.edge.contract import docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, ACCOUNTS, BODY, LIMITER, SITE, VERDICT
from bookgen.http.edge.schemas import shown
from bookgen.http.subscriptions import subscription_of
from bookgen.limits import Budget, LimitClass
from bookgen.models import Account

# One account may be tried as often as one address may try, but in five times as long.
GUESS_WINDOWS = 5


@docs(
    tags=["auth"],
    summary="Register an account",
    description="Answers `tokens`, or `email_verification_required` where a mailed link has to be followed first.",
)
@json_schema(RegistrationSchema)
@response_schema(RegisteredSchema, 201)
@refuses(PermissionDenied, RateLimited)
async def register(request: web.Request) -> web.Response:
    account, tokens = await request.app[ACCOUNTS].register(Registration(**request[BODY]), _caller(request))
    body: dict[str, Any] = {"user": shown(NewUserSchema, account)}
    if tokens is None:
        body["message"] = "Follow the link in the mail we sent you to verify your address."
        body["email_verification_required"] = True
    else:
        body["tokens"] = shown(TokenPairSchema, tokens)
        body["message"] = "Welcome. Your account is ready."
    return replies.json(body, status=201)


@docs(
    tags=["auth"],
    summary="Sign in by e-mail address or username",
    description="Send `password` with `email` or `username`. Access tokens last 24 hours, refresh tokens 30 days.",
)
@json_schema(LoginSchema)
@response_schema(SignedInSchema, 200)
@refuses(InvalidCredentials, PermissionDenied, RateLimited)
async def login(request: web.Request) -> web.Response:
    body = request[BODY]
    email, username = body.get("email"), body.get("username")
    _bound_guesses(request, (email or body["username"]).lower())
    result = await request.app[ACCOUNTS].login(
        email=email, username=username, password=body["password"], caller=_caller(request)
    )
    return await _signed_in(request, result)


@docs(
    tags=["auth"],
    summary="Exchange a refresh token for a new pair",
    description="Keep both new tokens and drop the old ones.",
)
@json_schema(TokenRefreshSchema)
@response_schema(TokenPairSchema, 200)
@refuses(TokenInvalid, PermissionDenied)
async def refresh_tokens(request: web.Request) -> web.Response:
    tokens = await request.app[ACCOUNTS].refresh(request[BODY]["refresh"])
    return replies.json(shown(TokenPairSchema, tokens))


@docs(
    tags=["auth"],
    summary="Sign in with a Google access token",
    description="To the account with the same e-mail address; one is made if there is none.",
)
@json_schema(GoogleLoginSchema)
@response_schema(SignedInSchema, 200)
@refuses(InvalidCredentials, PermissionDenied, RateLimited)
async def google_login(request: web.Request) -> web.Response:
    result = await request.app[ACCOUNTS].google(request[BODY]["access_token"], _caller(request))
    return await _signed_in(request, result)


@docs(tags=["auth"], summary="Sign in by a mailed link", description="The link works once.")
@response_schema(SignedInSchema, 200)
@refuses(InvalidInput, PermissionDenied)
async def magic_login(request: web.Request) -> web.Response:
    result = await request.app[ACCOUNTS].magic_login(*_link(request), _caller(request))
    return await _signed_in(request, result)


@docs(tags=["auth"], summary="Sign out: forget the session cookie", description="Tokens stay good until they expire.")
@response_schema(MessageSchema, 200)
async def logout(request: web.Request) -> web.Response:
    response = replies.json({"message": "You are signed out."})
    response.del_cookie(SESSION_COOKIE, httponly=True, samesite="Lax")
    return response


@docs(
    tags=["auth"],
    summary="Ask for a password-reset link by mail",
    description="Answers alike whether or not an account has the address.",
)
@json_schema(PasswordResetRequestSchema)
@response_schema(MessageSchema, 200)
async def forgot_password(request: web.Request) -> web.Response:
    await request.app[ACCOUNTS].forgot_password(request[BODY]["email"])
    return replies.json({"message": "If an account has this address, a reset link is on its way."})


@docs(
    tags=["auth"], summary="Set a new password by a mailed link", description="The link works once, for a limited time."
)
@json_schema(PasswordResetSchema)
@response_schema(MessageSchema, 200)
async def reset_password(request: web.Request) -> web.Response:
    await request.app[ACCOUNTS].reset_password(*_link(request), request[BODY]["new_password"])
    return replies.json({"message": "Your password is set. You can log in with it now."})


@docs(tags=["auth"], summary="Verify an e-mail address by a mailed link", description="The link works once.")
@response_schema(MessageSchema, 200)
@refuses(InvalidInput)
async def verify_email(request: web.Request) -> web.Response:
    await request.app[ACCOUNTS].verify_email(*_link(request))
    return replies.json({"message": "Your e-mail address is verified."})


@docs(tags=["profile"], summary="Change your password", description="Tokens given out before stay good.")
@json_schema(PasswordChangeSchema)
@response_schema(MessageSchema, 200)
async def change_password(request: web.Request) -> web.Response:
    body = request[BODY]
    _bound_guesses(request, f"account {request[ACCOUNT_ID]}")
    await request.app[ACCOUNTS].change_password(request[ACCOUNT_ID], body["current_password"], body["new_password"])
    return replies.json({"message": "Your password is changed."})


@docs(
    tags=["profile"],
    summary="Read your profile",
    description="With the subscription and its plan. Accepts the session cookie too.",
)
@response_schema(UserSchema, 200)
async def read_profile(request: web.Request) -> web.Response:
    account = await request.app[ACCOUNTS].profile(request[ACCOUNT_ID])
    return replies.json(await _user(request, account))


@docs(
    tags=["profile"],
    summary="Change your names or e-mail address",
    description="Fields that are not sent stay as they are. A new address has to be verified again.",
)
@json_schema(ProfileChangesSchema)
@response_schema(UpdatedProfileSchema, 200)
async def change_profile(request: web.Request) -> web.Response:
    changes = request[BODY]
    account = await request.app[ACCOUNTS].update_profile(request[ACCOUNT_ID], changes)
    return replies.json(shown(UpdatedProfileSchema, account, message="Your profile is saved."))


async def _user(request: web.Request, account: Account) -> dict[str, Any]:
    return shown(UserSchema, account, subscription=await subscription_of(request, account.id))


async def _signed_in(request: web.Request, result: SignedIn) -> web.Response:
    tokens = shown(TokenPairSchema, result.tokens)
    response = replies.json({"user": await _user(request, result.account), "tokens": tokens})
    response.set_cookie(
        SESSION_COOKIE,
        result.session,
        max_age=LIFETIME_SECONDS[TokenType.SESSION],
        httponly=True,
        samesite="Lax",
        secure=request.app[SITE].secure,
    )
    return response


def _link(request: web.Request) -> tuple[str, str]:
    """The two parts of a mailed link."""
    return request.match_info["uid"], request.match_info["token"]


def _caller(request: web.Request) -> Caller:
    return Caller(
        address=clients.address(request, request.app), fingerprint=request.headers.get("X-Browser-Fingerprint")
    )


def _bound_guesses(request: web.Request, name: str) -> None:
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
