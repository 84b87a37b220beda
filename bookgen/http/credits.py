"""Credits: packages, balance, transactions, and checkout with or without an account."""

from __future__ import annotations

from dataclasses import asdict

from aiohttp import web

from bookgen import errors
from bookgen.http import credits_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.contract import (
    conditional,
    docs,
    json_schema,
    querystring_schema,
    refuses,
    repeatable,
    response_schema,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, QUERY, SERVICES
from bookgen.http.edge.schemas import as_json
from bookgen.http.payments import return_urls, session
from bookgen.http.payments_schemas import CheckoutSessionSchema
from bookgen.store import credits

MAX_TRANSACTIONS = 100


@docs(
    "credits",
    "List the credit packages",
    "`price_cents` is authoritative. One credit pays for one book of up to `words_per_book` words.",
)
@response_schema(shapes.CreditPackageSchema(many=True))
@conditional
async def list_packages(request: web.Request) -> web.Response:
    packages = await credits.list_packages(request.app[SERVICES].database.http)
    dearest = max((shapes.cents_per_book(package) for package in packages), default=0)
    return replies.json([shapes.shown_package(package, dearest) for package in packages])


@docs("credits", "Read your wallet", "All counts are 0 until credits are bought or granted.")
@response_schema(shapes.CreditBalanceSchema)
@conditional
async def read_balance(request: web.Request) -> web.Response:
    return replies.json(asdict(await credits.wallet(request.app[SERVICES].database.http, request[ACCOUNT_ID])))


@docs(
    "credits",
    "List your credit transactions, newest first",
    "`balance_after`: how many credits were left after the transaction.",
)
@querystring_schema(shapes.TransactionsQuerySchema)
@response_schema(shapes.CreditTransactionSchema(many=True))
@conditional
async def list_transactions(request: web.Request) -> web.Response:
    limit = min(request[QUERY]["limit"], MAX_TRANSACTIONS)
    listed = await credits.transactions(request.app[SERVICES].database.http, request[ACCOUNT_ID], limit)
    return replies.json([as_json(shapes.CreditTransactionSchema, row, book=row.book_id) for row in listed])


@docs("credits", "Buy credits", "Credits are added to the wallet when the payment processor confirms the payment.")
@json_schema(shapes.CreditCheckoutSchema)
@response_schema(CheckoutSessionSchema)
@refuses(errors.NotFound, errors.Conflict, errors.PaymentsNotConfigured)
@repeatable
async def checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    return session(
        await request.app[SERVICES].payments.buy_credits(request[ACCOUNT_ID], body["package"], return_urls(body))
    )


@docs(
    "credits",
    "Buy credits without an account",
    "The payment page asks for an e-mail address; a sign-in link is mailed to that address after the payment.",
)
@json_schema(shapes.CreditCheckoutSchema)
@response_schema(CheckoutSessionSchema)
@refuses(errors.NotFound, errors.Conflict, errors.PaymentsNotConfigured)
async def guest_checkout(request: web.Request) -> web.Response:
    body = request[BODY]
    return session(await request.app[SERVICES].payments.buy_credits(None, body["package"], return_urls(body)))
