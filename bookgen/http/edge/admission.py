"""Authenticates a request and counts it against the caller's rate limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from bookgen import metrics
from bookgen.errors import (
    AuthenticationRequired,
    PermissionDenied,
    TokenInvalid,
    Unauthenticated,
    Unavailable,
)
from bookgen.http.edge import clients
from bookgen.http.edge.keys import ACCOUNT_ID, OUTGOING, SEMAPHORES, SERVICES, VERDICT
from bookgen.http.edge.routing import Route
from bookgen.rate_limits import Budget, LimitClass, Scope, Verdict, address_bucket
from bookgen.store import buckets

if TYPE_CHECKING:
    from bookgen.accounts.service import Accounts

SESSION_COOKIE = "bookgen_session"
SHORTAGE_SECONDS = 60  # the Retry-After while the disk is almost full, until an operator frees space


async def authenticate(request: web.Request, route: Route, app: web.Application) -> None:
    if route.public:
        return
    try:
        request[ACCOUNT_ID] = await _account_id(request, route, app[SERVICES].accounts)
    except (Unauthenticated, PermissionDenied):
        admit_stranger(request, app)  # guesses of tokens count against the caller's address
        raise


async def authenticate_again(request: web.Request) -> None:
    """Check the request's token again after a wait.

    If the token has expired or was revoked in the meantime, this raises the same error as a new request would.
    """
    await request.app[SERVICES].accounts.authenticate(request.headers["Authorization"].split(" ")[1])


async def _account_id(request: web.Request, route: Route, accounts: Accounts) -> int:
    header = request.headers.get("Authorization")
    if header is None and route.cookie and SESSION_COOKIE in request.cookies:
        return await accounts.authenticate_session(request.cookies[SESSION_COOKIE])
    scheme, *rest = (header or "").split(" ")
    if scheme != "Bearer":
        raise AuthenticationRequired
    if len(rest) != 1:
        raise TokenInvalid
    return await accounts.authenticate(rest[0])


async def admit(request: web.Request, route: Route, app: web.Application) -> None:
    """Count the request against the rate limit of the account or, on a public route, of the address.

    Raises RateLimited if the limit is exceeded, or if the account has not read too many bytes of earlier responses.
    """
    limiter = app[SERVICES].limiter
    if route.limit is None:
        return
    if route.public:
        address = clients.address(request, app)
        verdict = limiter.take_of_address(route.limit, address)
        if verdict.allowed and route.limit.scope is Scope.SHARED:
            verdict = await _shared_verdict(app, route.limit, address_bucket(address), limiter.budgets[route.limit])
    elif route.limit.scope is Scope.SHARED:
        # At most two at a time wait for the row.
        async with app[SEMAPHORES].semaphore_of(request[ACCOUNT_ID], route.limit):
            verdict = await _take_shared(request[ACCOUNT_ID], route.limit, app)
    else:
        verdict = limiter.take(route.limit, request[ACCOUNT_ID])
    _hold_to(request, verdict, route.limit)
    if not route.public:
        app[OUTGOING].require_room(request[ACCOUNT_ID])


async def _take_shared(account_id: int, limit: LimitClass, app: web.Application) -> Verdict:
    budget = app[SERVICES].limiter.budgets[limit]
    allowed, tokens = await buckets.take(
        app[SERVICES].database.http, account_id, limit, capacity=budget.capacity, rate=budget.rate
    )
    return budget.verdict(tokens, allowed=allowed)


async def take_from_shared(app: web.Application, name: str, caller: str, budget: Budget) -> Verdict:
    """Count one use against a rate limit that all processes share. Returns whether the use is allowed.

    The limit is a token bucket in the database, such as one for sign-ins from one address. `name` is the kind of
    bucket, and `caller` identifies the bucket. A bucket in this process's memory is tried first, so that a flood of
    requests does not reach the database. The bucket in memory never has fewer tokens than the shared bucket, so it
    never refuses a use that the shared bucket would allow.
    """
    verdict = app[SERVICES].limiter.take_from(name, caller, budget)
    if not verdict.allowed:
        return verdict
    return await _shared_verdict(app, name, caller, budget)


async def _shared_verdict(app: web.Application, name: str, caller: str, budget: Budget) -> Verdict:
    allowed, tokens = await buckets.take_from(
        app[SERVICES].database.http, name, caller, capacity=budget.capacity, rate=budget.rate
    )
    return budget.verdict(tokens, allowed=allowed)


async def give_back_to_shared(app: web.Application, name: str, caller: str, budget: Budget) -> None:
    """Give back the token that `take_from_shared` took."""
    app[SERVICES].limiter.give_back(name, caller, budget)
    await buckets.give_back(app[SERVICES].database.http, name, caller, capacity=budget.capacity)


def require_disk(app: web.Application) -> None:
    """Raise Unavailable while the disk of the embedded database is almost full. A full disk would stop the database."""
    if reason := app[SERVICES].shortage():
        raise Unavailable(reason, retry_after=SHORTAGE_SECONDS)


def admit_stranger(request: web.Request, app: web.Application) -> None:
    """Count a request with an unknown path or an invalid token against the rate limit of its address.

    Raises RateLimited if the limit is exceeded.
    """
    verdict = app[SERVICES].limiter.take_of_address(LimitClass.PUBLIC, clients.address(request, app))
    _hold_to(request, verdict, LimitClass.PUBLIC)


def _hold_to(request: web.Request, verdict: Verdict, limit: LimitClass) -> None:
    request[VERDICT] = verdict
    if not verdict.allowed:
        metrics.REFUSED.labels(limit).inc()
        raise verdict.refusal(limit.value)
