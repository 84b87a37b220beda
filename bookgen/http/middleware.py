"""What happens to every request, in one visible order, around its handler."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from bookgen import telemetry
from bookgen.accounts import Identity
from bookgen.errors import AuthenticationRequired, PermissionDenied, RateLimited, TokenInvalid, Unauthenticated
from bookgen.http import bodies, contract, cors, errors, unmatched
from bookgen.http.keys import (
    ACCOUNT_ID,
    ACCOUNTS,
    BODY,
    CLIENT,
    DATABASE,
    IDENTITY,
    LIMITER,
    QUERY,
    REQUEST_ID,
    SITE,
    VERDICT,
    Site,
)
from bookgen.http.routing import Handler, Route
from bookgen.http.schemas import load
from bookgen.limits import LimitClass, Verdict, address_bucket, client_address
from bookgen.store import buckets

if TYPE_CHECKING:
    from bookgen.accounts import Identity

log = structlog.get_logger("bookgen.http")

SESSION_COOKIE = "bookgen_session"
TABLE: web.AppKey[Mapping[web.AbstractRoute, Route]] = web.AppKey("table")

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@web.middleware
async def edge(request: web.Request, handler: Handler) -> web.StreamResponse:
    """One request. The order of the steps is the order of the lines."""
    began = time.perf_counter()
    route = request.app[TABLE].get(request.match_info.route)
    request[REQUEST_ID] = _request_id(request)
    request[CLIENT] = _client(request)
    failure: Exception | None = None
    try:
        if route is not None:
            await _authenticate(request, route)
            await _admit(request, route)
            await _validate(request, route)
            response = await handler(request)
        else:
            _admit_stranger(request)
            response = await unmatched.answer(request)
    except Exception as error:
        failure = error
        response = _refusal(request, error)
    response.headers.update(_headers(request, response))
    _record(request, route, response, time.perf_counter() - began, failure)
    return response


def _request_id(request: web.Request) -> str:
    given = request.headers.get("X-Request-Id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _client(request: web.Request) -> str:
    trusted = request.app[SITE].trusted_proxies
    if not trusted:
        return request.remote or ""
    return client_address(request.remote, request.headers.getall("X-Forwarded-For", ()), trusted)


async def _authenticate(request: web.Request, route: Route) -> None:
    if route.public:
        return
    try:
        identity = await _identity(request, route)
    except (Unauthenticated, PermissionDenied):
        _admit_stranger(request)  # guessing tokens costs the guesser's address
        raise
    request[IDENTITY] = identity
    request[ACCOUNT_ID] = identity.account_id


async def _identity(request: web.Request, route: Route) -> Identity:
    header = request.headers.get("Authorization")
    if header is None and route.cookie and SESSION_COOKIE in request.cookies:
        return await request.app[ACCOUNTS].authenticate_session(request.cookies[SESSION_COOKIE])
    scheme, *rest = (header or "").split(" ")
    if scheme != "Bearer":
        raise AuthenticationRequired
    if len(rest) != 1:
        raise TokenInvalid
    return await request.app[ACCOUNTS].authenticate(rest[0])


async def _admit(request: web.Request, route: Route) -> None:
    """Takes a token from the caller's bucket: of its account, or of its address where there is none."""
    limiter = request.app[LIMITER]
    if route.limit is None:
        return
    if route.public:
        verdict = limiter.take(route.limit, address_bucket(request[CLIENT]))
    elif route.limit is LimitClass.EXPENSIVE:
        verdict = await _take_shared(request, route.limit)
    else:
        verdict = limiter.take(route.limit, request[ACCOUNT_ID])
    _hold_to(request, verdict, route.limit)


async def _take_shared(request: web.Request, limit: LimitClass) -> Verdict:
    budget = request.app[LIMITER].budgets[limit]
    allowed, tokens = await buckets.take(
        request.app[DATABASE].http, request[ACCOUNT_ID], limit, capacity=budget.capacity, rate=budget.rate
    )
    return budget.verdict(tokens, allowed=allowed)


def _admit_stranger(request: web.Request) -> None:
    """Paths that do not exist and tokens that are no good are counted by address."""
    verdict = request.app[LIMITER].take(LimitClass.PUBLIC, address_bucket(request[CLIENT]))
    _hold_to(request, verdict, LimitClass.PUBLIC)


def _hold_to(request: web.Request, verdict: Verdict, limit: LimitClass) -> None:
    request[VERDICT] = verdict
    if not verdict.allowed:
        telemetry.REFUSED.labels(limit).inc()
        raise RateLimited(
            retry_after=verdict.retry_after,
            limit=verdict.limit,
            remaining=verdict.remaining,
            reset_seconds=verdict.reset,
            scope=limit.value,
        )


async def _validate(request: web.Request, route: Route) -> None:
    if schema := contract.query_schema(route.handler):
        request[QUERY] = load(schema, request.query)
    if schema := contract.body_schema(route.handler):
        request[BODY] = load(schema, await bodies.read_object(request))
    else:
        bodies.refuse_large(request)


def _refusal(request: web.Request, error: Exception) -> web.Response:
    refusal = errors.as_domain_error(error, request[REQUEST_ID])
    response = errors.envelope(refusal, request.app[SITE].public_url)
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
    return response


def _headers(request: web.Request, response: web.StreamResponse) -> dict[str, str]:
    site = request.app[SITE]
    verdict = request.get(VERDICT) or request.app[LIMITER].peek(LimitClass.PUBLIC, address_bucket(request[CLIENT]))
    headers = {
        "X-Request-Id": request[REQUEST_ID],
        "X-API-Version": "v1",
        "X-API-Version-Latest": "v1",
        "RateLimit-Limit": str(verdict.limit),
        "RateLimit-Remaining": str(verdict.remaining),
        "RateLimit-Reset": str(verdict.reset),
        "Server": "bookgen",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    if "Content-Security-Policy" not in response.headers:
        headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
    if "Cache-Control" not in response.headers:
        headers["Cache-Control"] = "no-store"
    return headers | _optional_headers(request, site)


def _optional_headers(request: web.Request, site: Site) -> dict[str, str]:
    headers: dict[str, str] = {}
    if site.secure:
        headers["Strict-Transport-Security"] = "max-age=31536000"
    if site.deprecation:
        headers.update(site.deprecation.headers())
    if site.allowed_origins:
        headers.update(cors.headers(request.headers.get("Origin"), site.allowed_origins))
    return headers


def _record(
    request: web.Request,
    route: Route | None,
    response: web.StreamResponse,
    seconds: float,
    failure: Exception | None,
) -> None:
    """One line for each request, by its route's template: paths carry mailed tokens."""
    template = route.path if route else "(none)"
    status = response.status
    telemetry.REQUESTS.labels(request.method if route else "-", template, status).inc()
    telemetry.LATENCY.labels(template).observe(seconds)
    if route is not None and route.quiet and status < 400:
        return
    line = log.bind(
        request_id=request[REQUEST_ID],
        method=request.method,
        route=template,
        status=status,
        ms=round(seconds * 1000, 1),
        account_id=request.get(ACCOUNT_ID),
    )
    if status >= 500 and failure is not None and type(failure) not in errors.WIRE:
        line.error("request_failed", exc_info=failure)
    else:
        line.info("request")
