"""Changing a password, getting back in without one, and verifying an address."""

from __future__ import annotations

from aiohttp import web

from bookgen.errors import InvalidInput
from bookgen.http import users
from bookgen.http.auth import Email, GivenPassword, Password, bound_guesses
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, ACCOUNTS, BODY
from bookgen.http.edge.schemas import Body


class ChangePasswordBody(Body):
    current_password = GivenPassword(required=True)
    new_password = Password(required=True)


class ForgotPasswordBody(Body):
    email = Email(required=True)


class ResetPasswordBody(Body):
    new_password = Password(required=True)


@docs(tags=["profile"], summary="Change your password", description="Tokens given out before stay good.")
@json_schema(ChangePasswordBody)
@response_schema(users.Message, 200)
async def change_password(request: web.Request) -> web.Response:
    body = request[BODY]
    bound_guesses(request, f"account {request[ACCOUNT_ID]}")
    await request.app[ACCOUNTS].change_password(request[ACCOUNT_ID], body["current_password"], body["new_password"])
    return replies.json({"message": "Your password is changed."})


@docs(tags=["auth"], summary="Ask for a password-reset link by mail")
@json_schema(ForgotPasswordBody)
@response_schema(users.Message, 200)
async def forgot_password(request: web.Request) -> web.Response:
    await request.app[ACCOUNTS].forgot_password(request[BODY]["email"])
    return replies.json({"message": "If an account has this address, a reset link is on its way."})


@docs(tags=["auth"], summary="Set a new password by a mailed link")
@json_schema(ResetPasswordBody)
@response_schema(users.Message, 200)
async def reset_password(request: web.Request) -> web.Response:
    uid, token = request.match_info["uid"], request.match_info["token"]
    await request.app[ACCOUNTS].reset_password(uid, token, request[BODY]["new_password"])
    return replies.json({"message": "Your password is set. You can log in with it now."})


@docs(tags=["auth"], summary="Verify an e-mail address by a mailed link")
@response_schema(users.Message, 200)
@refuses(InvalidInput)
async def verify_email(request: web.Request) -> web.Response:
    uid, token = request.match_info["uid"], request.match_info["token"]
    await request.app[ACCOUNTS].verify_email(uid, token)
    return replies.json({"message": "Your e-mail address is verified."})
