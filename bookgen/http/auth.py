"""Registration, sign-in, tokens, passwords, and the caller's profile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import structlog
from aiohttp import web

from bookgen import metrics
from bookgen.accounts.proof import Proof
from bookgen.accounts.service import Registration, SignedIn
from bookgen.accounts.signup import Caller
from bookgen.accounts.tokens import LIFETIME_SECONDS, TokenType
from bookgen.errors import (
    AuthenticationRequired,
    Conflict,
    InvalidCredentials,
    InvalidInput,
    PermissionDenied,
    RateLimited,
    TokenInvalid,
)
from bookgen.http import auth_schemas as shapes
from bookgen.http.edge import clients, replies
from bookgen.http.edge.admission import SESSION_COOKIE
from bookgen.http.edge.conditional import tag_of_response
from bookgen.http.edge.contract import conditional, docs, guarded_by, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES
from bookgen.http.edge.schemas import as_json
from bookgen.http.password_attempts import own_password_attempt, password_attempt
from bookgen.http.subscriptions import subscription_of
from bookgen.models import Account

VERIFIED = {
    Proof.DONE: "Your e-mail address is verified.",
    Proof.TOKENS_ENDED: "Your e-mail address is verified, and all devices are signed out. Sign in with your password.",
    Proof.HANDED_OVER: (
        "Your e-mail address is verified. Your old password no longer works. Request a link to set a new one."
    ),
    Proof.UNAPPROVED: "Your new e-mail address is verified. It takes effect once you follow the link sent to {email}.",
}
APPROVED = {
    Proof.DONE: "Your e-mail address is now {email}.",
    Proof.UNPROVEN: "You approved the change. It takes effect once you follow the link sent to the new address.",
}
RESET_SENT = "If an account has this address, a reset link is on its way."
RESET_WRITTEN = (
    "This service sends no e-mail. If you have an account with this address, ask the operator for the link to reset "
    "the password."
)
VERIFICATION_SENT = "If an account has this address and has not verified it, a link is on its way."
VERIFICATION_WRITTEN = (
    "This service sends no e-mail. If you have an account with this address and have not verified the address, ask the "
    "operator for the verification link."
)

log = structlog.get_logger(__name__)


class SignInWay(StrEnum):
    """How a caller signs in."""

    PASSWORD = "password"
    GOOGLE = "google"
    LINK = "link"


metrics.start_at_zero(metrics.SIGN_INS_FAILED, SignInWay)


@docs(
    "auth",
    "Register an account",
    "Returns `tokens`, or `email_verification_required` if the address must be verified first.",
)
@json_schema(shapes.RegistrationSchema)
@response_schema(shapes.RegisteredSchema, 201)
@refuses(PermissionDenied, RateLimited)
async def register(request: web.Request) -> web.Response:
    account, tokens = await request.app[SERVICES].accounts.register(Registration(**request[BODY]), _caller(request))
    body: dict[str, Any] = {"user": as_json(shapes.NewUserSchema, account)}
    if tokens is None:
        body["message"] = "We sent you an e-mail. Follow its link to verify your address, then log in."
        body["email_verification_required"] = True
    else:
        body["tokens"] = as_json(shapes.TokenPairSchema, tokens)
        body["message"] = "Welcome. Your account is ready."
    return replies.json(body, status=201)


@docs(
    "auth",
    "Sign in by e-mail address or username",
    "Send `password` with `email` or `username`. Access tokens last 24 hours, refresh tokens 30 days.",
)
@json_schema(shapes.LoginSchema)
@response_schema(shapes.SignedInSchema, 200)
@refuses(InvalidCredentials, PermissionDenied, RateLimited)
async def login(request: web.Request) -> web.Response:
    body = request[BODY]
    service, caller = request.app[SERVICES].accounts, _caller(request)
    with _failures_logged(request, SignInWay.PASSWORD, body.get("email") or body.get("username") or ""):
        attempt = await service.attempt(email=body.get("email"), username=body.get("username"), caller=caller)
        async with password_attempt(request, attempt.candidate):
            result = await service.login(attempt, body["password"], caller)
    return await _signed_in(request, result)


@docs("auth", "Exchange a refresh token for a new pair of tokens", "Store both new tokens and discard the old ones.")
@json_schema(shapes.TokenRefreshSchema)
@response_schema(shapes.TokenPairSchema, 200)
@refuses(TokenInvalid, PermissionDenied)
async def refresh_tokens(request: web.Request) -> web.Response:
    tokens = await request.app[SERVICES].accounts.refresh(request[BODY]["refresh"])
    return replies.json(as_json(shapes.TokenPairSchema, tokens))


@docs(
    "auth",
    "Sign in with a Google access token",
    "Signs in to the account with the same e-mail address, or creates it. The first sign-in to an existing account "
    "removes its password and revokes its tokens, unless the request carries a token of that account.",
)
@json_schema(shapes.GoogleLoginSchema)
@response_schema(shapes.SignedInSchema, 200)
@refuses(InvalidCredentials, PermissionDenied, RateLimited)
async def google_login(request: web.Request) -> web.Response:
    service, holder = request.app[SERVICES].accounts, await _token_account(request)
    with _failures_logged(request, SignInWay.GOOGLE):
        result = await service.google(request[BODY]["access_token"], _caller(request), holder)
    return await _signed_in(request, result)


@docs("auth", "Sign in by a mailed link", "The link works once.")
@response_schema(shapes.SignedInSchema, 200)
@refuses(InvalidInput, PermissionDenied)
async def magic_login(request: web.Request) -> web.Response:
    with _failures_logged(request, SignInWay.LINK):
        result = await request.app[SERVICES].accounts.magic_login(*_link(request), _caller(request))
    return await _signed_in(request, result)


@docs(
    "auth",
    "Sign out: forget the session cookie",
    "Does not revoke access tokens or refresh tokens: they remain valid until they expire.",
)
@response_schema(shapes.MessageSchema, 200)
async def logout(request: web.Request) -> web.Response:
    response = replies.json({"message": "You are signed out."})
    response.del_cookie(SESSION_COOKIE, samesite="Lax")
    return response


@docs(
    "auth",
    "Request a password-reset link by e-mail",
    "The response is the same whether or not an account has this address.",
)
@json_schema(shapes.EmailAddressSchema)
@response_schema(shapes.MessageSchema, 200)
async def forgot_password(request: web.Request) -> web.Response:
    await request.app[SERVICES].accounts.profiles.forgot_password(request[BODY]["email"])
    return replies.json({"message": RESET_SENT if request.app[SERVICES].site.sends_mail else RESET_WRITTEN})


@docs(
    "auth",
    "Set a new password by a mailed link",
    "The link works once and expires in one hour. Setting a password revokes all tokens of the account.",
)
@json_schema(shapes.PasswordResetSchema)
@response_schema(shapes.MessageSchema, 200)
async def reset_password(request: web.Request) -> web.Response:
    await request.app[SERVICES].accounts.profiles.reset_password(*_link(request), request[BODY]["new_password"])
    return replies.json({"message": "Your password is set. You can log in with it now."})


@docs(
    "auth",
    "Verify an e-mail address by a mailed link",
    "Each link works once. The link mailed at registration verifies the account's address. Send an access token of the "
    "account with the request: without one, all tokens of the account are revoked, and if a guest has bought credits "
    "with this address, the account's password is removed too. The link mailed to a new address does not work without "
    "an access token of the account.",
)
@response_schema(shapes.MessageSchema, 200)
@refuses(InvalidInput, AuthenticationRequired)
async def verify_email(request: web.Request) -> web.Response:
    profiles = request.app[SERVICES].accounts.profiles
    outcome, account = await profiles.verify_email(*_link(request), await _token_account(request))
    return replies.json({"message": VERIFIED[outcome].format(email=account.email)})


@docs(
    "auth",
    "Request another link that verifies your e-mail address",
    "For an account whose `email_verified` is false. The response is the same whether or not an account has this "
    "address. At most five e-mails an hour are sent to an address.",
)
@json_schema(shapes.EmailAddressSchema)
@response_schema(shapes.MessageSchema, 200)
async def resend_verification(request: web.Request) -> web.Response:
    await request.app[SERVICES].accounts.profiles.resend_verification(request[BODY]["email"])
    sends = request.app[SERVICES].site.sends_mail
    return replies.json({"message": VERIFICATION_SENT if sends else VERIFICATION_WRITTEN})


@docs(
    "auth",
    "Approve a change of your e-mail address by a mailed link",
    "Needed if the change was requested without `current_password` and the old address is verified. The link works "
    "once, and does not work without an access token of the account.",
)
@response_schema(shapes.MessageSchema, 200)
@refuses(InvalidInput, AuthenticationRequired)
async def approve_email(request: web.Request) -> web.Response:
    profiles = request.app[SERVICES].accounts.profiles
    outcome, account = await profiles.approve_email(*_link(request), await _token_account(request))
    return replies.json({"message": APPROVED[outcome].format(email=account.email)})


@docs(
    "auth",
    "Undo a change of your e-mail address by a mailed link",
    "Restores the address that the link was mailed to and revokes all tokens. If the new address had already been "
    "confirmed, the password and the Google link are removed too.",
)
@response_schema(shapes.MessageSchema, 200)
@refuses(InvalidInput)
async def undo_email(request: web.Request) -> web.Response:
    account = await request.app[SERVICES].accounts.profiles.undo_email(*_link(request))
    done = f"The change is undone: your e-mail address is {account.email}. All devices are signed out."
    return replies.json({"message": f"{done} Set a new password."})


@docs("profile", "Change your password", "Existing tokens stay valid.")
@json_schema(shapes.PasswordChangeSchema)
@response_schema(shapes.MessageSchema, 200)
async def change_password(request: web.Request) -> web.Response:
    account_id, body = request[ACCOUNT_ID], request[BODY]
    async with own_password_attempt(request, _caller(request).origin):
        await request.app[SERVICES].accounts.profiles.change_password(
            account_id, body["current_password"], body["new_password"]
        )
    return replies.json({"message": "Your password is changed."})


@docs(
    "profile",
    "Delete your account",
    "Deletes the account and all it has: books, files, credits, history. Ends its subscriptions at once. This cannot "
    "be undone. An account without a password must have signed in within the last five minutes.",
)
@json_schema(shapes.AccountDeletionSchema)
@response_schema(shapes.MessageSchema, 200)
@refuses(InvalidInput, RateLimited)
async def delete_account(request: web.Request) -> web.Response:
    services, account_id = request.app[SERVICES], request[ACCOUNT_ID]
    token = request.headers["Authorization"].removeprefix("Bearer ")
    async with own_password_attempt(request, _caller(request).origin):
        await services.accounts.profiles.require_may_delete(
            account_id, request[BODY].get("current_password"), services.accounts.signed_in_at(token)
        )
    await services.departure.delete(account_id)
    return replies.json({"message": "Your account and everything in it is deleted."})


@docs(
    "profile",
    "Read your profile",
    "The answer includes the subscription and its plan. The call accepts the session cookie as well as a token.",
)
@response_schema(shapes.UserSchema, 200)
@conditional
async def read_profile(request: web.Request) -> web.Response:
    account = await request.app[SERVICES].accounts.profiles.find(request[ACCOUNT_ID])
    return replies.json(await _user(request, account))


@docs(
    "profile",
    "Change your names or e-mail address",
    "Fields that you do not send stay unchanged. A new address is pending until you follow the link mailed to it; "
    "until then `email` is the old one. Without `current_password` you also have to follow a link mailed to the old "
    "address, if the old address is verified. The old address receives a link that undoes the change for 7 days. The "
    "response has the `ETag` of `GET /auth/profile/`.",
)
@json_schema(shapes.ProfileChangesSchema)
@response_schema(shapes.UpdatedProfileSchema, 200)
@refuses(RateLimited, Conflict)
@guarded_by(read_profile)
async def change_profile(request: web.Request) -> web.Response:
    account_id, changes = request[ACCOUNT_ID], request[BODY].copy()
    profiles = request.app[SERVICES].accounts.profiles
    password = changes.pop("current_password", None)
    if password is None:
        account, to_follow = await profiles.update(account_id, changes)
    else:
        async with own_password_attempt(request, _caller(request).origin):
            account, to_follow = await profiles.update(account_id, changes, password)
    message = "Your profile is saved."
    if to_follow:
        one = len(to_follow) == 1
        links, them = ("a link", "it") if one else ("links", "both")
        message += f" We sent {links} to {' and '.join(to_follow)}. Your address changes when you follow {them}."
    whole = await read_profile(request)
    return replies.json(
        as_json(shapes.UpdatedProfileSchema, account, message=message), headers={"ETag": tag_of_response(whole)}
    )


async def _user(request: web.Request, account: Account) -> dict[str, Any]:
    return as_json(shapes.UserSchema, account, subscription=await subscription_of(request, account.id))


async def _signed_in(request: web.Request, result: SignedIn) -> web.Response:
    tokens = as_json(shapes.TokenPairSchema, result.tokens)
    response = replies.json({"user": await _user(request, result.account), "tokens": tokens})
    response.set_cookie(
        SESSION_COOKIE,
        result.session,
        max_age=LIFETIME_SECONDS[TokenType.SESSION],
        httponly=True,
        samesite="Lax",
        secure=request.app[SERVICES].site.secure,
    )
    return response


def _link(request: web.Request) -> tuple[str, str]:
    """The uid and the token in the path of a mailed link."""
    return request.match_info["uid"], request.match_info["token"]


def _caller(request: web.Request) -> Caller:
    address = clients.address(request, request.app)
    # All callers behind a proxy that sends no X-Forwarded-For share its address.
    own = "" if clients.is_proxy(address, request.app[SERVICES].site.trusted_proxies) else address
    return Caller(address=own, fingerprint=request.headers.get("X-Browser-Fingerprint"))


@contextlib.contextmanager
def _failures_logged(request: web.Request, way: SignInWay, name: str = "") -> Iterator[None]:
    """If the code in the `with` block refuses a sign-in, log and count the failure, then raise the error again.

    The log line has the caller's address and `name`, for programs such as fail2ban.
    """
    try:
        yield
    except (InvalidCredentials, InvalidInput, PermissionDenied, RateLimited) as error:
        metrics.SIGN_INS_FAILED.labels(way).inc()
        address = clients.address(request, request.app)
        log.warning("sign_in_failed", address=address, name=name, way=str(way), reason=type(error).__name__)
        raise


async def _token_account(request: web.Request) -> int | None:
    """The id of the account whose access token was sent; None without a valid token. For routes that need no token."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return await request.app[SERVICES].accounts.holder(token) if scheme == "Bearer" else None
