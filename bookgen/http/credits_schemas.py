"""Schemas of credit packages, the balance and its transactions."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from bookgen.http.edge.schemas import Integer, Query, String, as_json
from bookgen.http.payments_schemas import CheckoutSchema
from bookgen.models import CreditKind, CreditPackage


class CreditPackageSchema(Schema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    slug = fields.String(required=True)
    credits = fields.Integer(required=True)
    price = fields.Float(required=True)
    price_cents = fields.Integer(required=True)
    price_per_book = fields.Float(required=True)
    price_per_book_cents = fields.Integer(required=True)
    savings_percent = fields.Integer(required=True)
    words_per_book = fields.Integer(required=True)
    is_popular = fields.Boolean(required=True)
    is_active = fields.Boolean(required=True)
    display_order = fields.Integer(required=True)


class CreditBalanceSchema(Schema):
    id = fields.Integer(required=True)
    balance = fields.Integer(required=True)
    total_purchased = fields.Integer(required=True)
    total_used = fields.Integer(required=True)
    created_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)


class CreditTransactionSchema(Schema):
    id = fields.Integer(required=True)
    kind = fields.Enum(CreditKind, by_value=True, required=True)
    amount = fields.Integer(required=True)
    balance_after = fields.Integer(required=True)
    description = fields.String(required=True)
    book = fields.Integer(required=True, allow_none=True)
    created_at = fields.DateTime(required=True)


LIMIT = "The number of transactions to return. Values above 100 are treated as 100."


class TransactionsQuerySchema(Query):
    limit = Integer(minimum=1, from_text=True, load_default=20, metadata={"description": LIMIT})


class CreditCheckoutSchema(CheckoutSchema):
    package = String(100, minimum=1, required=True, metadata={"example": "five-pack"})


def shown_package(package: CreditPackage, dearest: int) -> dict[str, Any]:
    """A credit package as JSON. `dearest`: the highest price per book among all packages, in cents.

    `savings_percent` in the result says how much cheaper a book is with this package.
    """
    per_book = cents_per_book(package)
    return as_json(
        CreditPackageSchema,
        package,
        price=package.price_cents / 100,
        price_per_book=per_book / 100,
        price_per_book_cents=per_book,
        savings_percent=round(100 * (dearest - per_book) / dearest),
    )


def cents_per_book(package: CreditPackage) -> int:
    return round(package.price_cents / package.credits)
