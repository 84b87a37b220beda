"""The caller's own profile."""

from __future__ import annotations

from aiohttp import web
from marshmallow import Schema, fields

from bookgen.http import users
from bookgen.http.auth import Email
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, json_schema, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, ACCOUNTS, BODY
from bookgen.http.edge.schemas import Body, Text


class ProfileBody(Body):
    first_name = Text(150)
    last_name = Text(150)
    email = Email()


class UpdatedProfile(Schema):
    id = fields.Integer(required=True)
    username = fields.String(required=True)
    email = fields.String(required=True)
    first_name = fields.String(required=True)
    last_name = fields.String(required=True)
    avatar_url = fields.String(allow_none=True, required=True)
    message = fields.String(required=True)


@docs(tags=["profile"], summary="Read your profile")
@response_schema(users.User, 200)
async def read_profile(request: web.Request) -> web.Response:
    account = await request.app[ACCOUNTS].profile(request[ACCOUNT_ID])
    return replies.json(await users.user(request, account))


@docs(tags=["profile"], summary="Change your names or e-mail address")
@json_schema(ProfileBody)
@response_schema(UpdatedProfile, 200)
async def change_profile(request: web.Request) -> web.Response:
    changes = request[BODY]
    account = await request.app[ACCOUNTS].update_profile(request[ACCOUNT_ID], changes)
    return replies.json(
        {
            "id": account.id,
            "username": account.username,
            "email": account.email,
            "first_name": account.first_name,
            "last_name": account.last_name,
            "avatar_url": account.avatar_url,
            "message": "Your profile is saved.",
        }
    )
