"""Credit packages, the wallet, its ledger, and buying credits with or without an account."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web
from marshmallow import Schema, fields

from bookgen import errors
from bookgen.http.checkout_schemas import CheckoutBody, CheckoutSession, hosted, return_urls
from bookgen.http.edge import replies
from bookgen.http.edge.contract import docs, json_schema, querystring_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, DATABASE, PAYMENTS, QUERY
from bookgen.http.edge.schemas import Body, Integer, Text
from bookgen.models import CreditKind, CreditPackage, CreditTransaction
from bookgen.store import credits

MOST_TRANSACTIONS = 100


class CreditPackageShape(Schema):
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


class CreditBalance(Schema):
    id = fields.Integer(required=True)
    balance = fields.Integer(required=True)
    total_purchased = fields.Integer(required=True)
    total_used = fields.Integer(required=True)
    created_at = fields.DateTime(required=True)
    updated_at = fields.DateTime(required=True)


class CreditTransactionShape(Schema):
    id = fields.Integer(required=True)
    kind = fields.Enum(CreditKind, by_value=True, required=True)
    amount = fields.Integer(required=True)
    balance_after = fields.Integer(required=True)
    description = fields.String(required=True)
    book = fields.Integer(required=True, allow_none=True)
    created_at = fields.DateTime(required=True)


class TransactionsQuery(Body):
    limit = Integer(minimum=1, from_text=True, load_default=20, metadata={"description": "Larger than 100 is 100."})


class CreditCheckout(CheckoutBody):
    package = Text(100, minimum=1, required=True, metadata={"example": "five-pack"})


@docs(tags=["credits"], summary="List the credit packages")
@response_schema(CreditPackageShape(many=True))
async def list_packages(request: web.Request) -> web.Response:
    packages = await credits.list_packages(request.app[DATABASE].http)
    dearest = max((_cents_per_book(package) for package in packages), default=0)
    return replies.json([_package(package, dearest) for package in packages])


@docs(tags=["credits"], summary="Read your wallet")
@response_schema(CreditBalance)
async def read_balance(request: web.Request) -> web.Response:
    return replies.json(asdict(await credits.wallet(request.app[DATABASE].http, request[ACCOUNT_ID])))


@docs(tags=["credits"], summary="List your ledger, newest first")
@querystring_schema(TransactionsQuery)
@response_schema(CreditTransactionShape(many=True))
async def list_transactions(request: web.Request) -> web.Response:
    limit = min(request[QUERY]["limit"], MOST_TRANSACTIONS)
    listed = await credits.transactions(request.app[DATABASE].http, request[ACCOUNT_ID], limit)
    return replies.json([_transaction(row) for row in listed])


@docs(
    tags=["credits"],
    summary="Buy credits",
    description="They are in the wallet once the payment processor has confirmed the payment.",
)
@json_schema(CreditCheckout)
@response_schema(CheckoutSession)
@refuses(errors.NotFound, errors.PaymentsNotConfigured)
async def checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    return hosted(await request.app[PAYMENTS].buy_credits(request[ACCOUNT_ID], body["package"], return_urls(body)))


@docs(
    tags=["credits"],
    summary="Buy credits without an account",
    description="The hosted page asks for an e-mail address; a sign-in link is mailed to it after the payment.",
)
@json_schema(CreditCheckout)
@response_schema(CheckoutSession)
@refuses(errors.NotFound, errors.PaymentsNotConfigured)
async def guest_checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    return hosted(await request.app[PAYMENTS].buy_credits(None, body["package"], return_urls(body)))


def _package(package: CreditPackage, dearest: int) -> dict[str, Any]:
    per_book = _cents_per_book(package)
    return {
        **asdict(package),
        "price": package.price_cents / 100,
        "price_per_book": per_book / 100,
        "price_per_book_cents": per_book,
        "savings_percent": round(100 * (dearest - per_book) / dearest),
    }


def _cents_per_book(package: CreditPackage) -> int:
    return round(package.price_cents / package.credits)


def _transaction(row: CreditTransaction) -> dict[str, Any]:
    shown = asdict(row)
    shown["book"] = shown.pop("book_id")
    return shown
