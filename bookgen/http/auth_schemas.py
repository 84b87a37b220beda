"""Schemas of registration, sign-in, tokens, passwords and the caller's profile."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, ValidationError, fields, validates_schema

from bookgen.accounts.passwords import MAX_LENGTH, MIN_LENGTH
from bookgen.accounts.signup import USERNAME_PATTERN
from bookgen.http.edge.schemas import Body, String, schema_keywords
from bookgen.http.subscriptions_schemas import SubscriptionSchema

EMAIL_CHARACTERS = 254
TOKEN_CHARACTERS = 4096


class Email(String):
    def __init__(self, **kwargs: Any) -> None:
        metadata = {"format": "email", "example": "ada@example.com"}
        super().__init__(EMAIL_CHARACTERS, minimum=3, metadata=metadata, **kwargs)


class Password(String):
    """A new password. It is not trimmed and may consist of blanks."""

    def __init__(self, *, minimum: int = MIN_LENGTH, maximum: int = MAX_LENGTH, **kwargs: Any) -> None:
        metadata = {"format": "password", "example": "correct horse battery"}
        super().__init__(maximum, minimum=minimum, trim=False, metadata=metadata, **kwargs)
        self.pattern = r"^[^\u0000]*$"


class GivenPassword(Password):
    """The account's current password, to be compared with the stored password. Only its length is validated."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(minimum=1, maximum=1024, **kwargs)


class RegistrationSchema(Body):
    username = String(150, minimum=3, required=True, metadata={"pattern": USERNAME_PATTERN, "example": "ada"})
    email = Email(required=True)
    password = Password(required=True)
    first_name = String(150, load_default="", metadata={"example": "Ada"})
    last_name = String(150, load_default="", metadata={"example": "Lovelace"})


@schema_keywords(minProperties=2)
class LoginSchema(Body):
    """A password and either an e-mail address or a username."""

    email = Email()
    username = String(150, minimum=1)
    password = GivenPassword(required=True)

    @validates_schema
    def require_a_name(self, data: dict[str, Any], **_: Any) -> None:
        if "email" not in data and "username" not in data:
            raise ValidationError({"email": ["Send an e-mail address or a username."]})


class TokenRefreshSchema(Body):
    refresh = String(TOKEN_CHARACTERS, minimum=1, required=True, metadata={"example": "eyJhbGciOi…"})


class GoogleLoginSchema(Body):
    access_token = String(TOKEN_CHARACTERS, minimum=1, required=True, metadata={"example": "ya29.a0Af…"})


class PasswordChangeSchema(Body):
    current_password = GivenPassword(required=True)
    new_password = Password(required=True)


class EmailAddressSchema(Body):
    email = Email(required=True)


class PasswordResetSchema(Body):
    new_password = Password(required=True)


class ProfileChangesSchema(Body):
    first_name = String(150)
    last_name = String(150)
    email = Email()
    current_password = GivenPassword()


class AccountDeletionSchema(Body):
    """`current_password` is required, unless the account has no password."""

    current_password = GivenPassword()


class MessageSchema(Schema):
    message = fields.String(required=True)


class NewUserSchema(Schema):
    id = fields.Integer(required=True)
    username = fields.String(required=True)
    email = fields.String(required=True)
    first_name = fields.String(required=True)
    last_name = fields.String(required=True)
    email_verified = fields.Boolean(required=True)


class UserSchema(NewUserSchema):
    avatar_url = fields.String(allow_none=True, required=True)
    is_staff = fields.Boolean(required=True)
    is_superuser = fields.Boolean(required=True)
    subscription = fields.Nested(SubscriptionSchema, allow_none=True, required=True)


class TokenPairSchema(Schema):
    access = fields.String(required=True)
    refresh = fields.String(required=True)


class SignedInSchema(Schema):
    user = fields.Nested(UserSchema, required=True)
    tokens = fields.Nested(TokenPairSchema, required=True)


class RegisteredSchema(Schema):
    """The new account, with its `tokens` or, if its address must be verified first, `email_verification_required`."""

    user = fields.Nested(NewUserSchema, required=True)
    message = fields.String(required=True)
    tokens = fields.Nested(TokenPairSchema)
    email_verification_required = fields.Boolean()


class UpdatedProfileSchema(Schema):
    id = fields.Integer(required=True)
    username = fields.String(required=True)
    email = fields.String(required=True)
    first_name = fields.String(required=True)
    last_name = fields.String(required=True)
    avatar_url = fields.String(allow_none=True, required=True)
    message = fields.String(required=True)
