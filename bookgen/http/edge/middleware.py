"""The middleware: what happens to every request before and after its handler, in order."""

from __future__ import annotations

import contextlib
import itertools
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from bookgen.errors import InvalidInput, NotFound, no_such
from bookgen.http.edge import access_log, admission, bodies, conditional, errors, headers, hosts, idempotency, unmatched
from bookgen.http.edge.contract import Endpoint
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, QUERY, REQUEST_ID, SEMAPHORES, SERVICES
from bookgen.http.edge.routing import Handler, Route, path_id
from bookgen.http.edge.schemas import load
from bookgen.rate_limits import LimitClass
from bookgen.store.access import owns

TABLE: web.AppKey[Mapping[web.AbstractRoute, Endpoint]] = web.AppKey("table")

# The kind of resource that `{id}` names, by the collection in the path.
TABLE_OF = {"books": "book", "chapters": "chapter", "illustrations": "illustration", "proofreading-reports": "report"}
SAFE = ("GET", "HEAD")  # methods that change nothing
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PROCESS = secrets.token_hex(5)
_numbers = itertools.count(1)


@web.middleware
async def edge(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Handle one request: check its host, token and rate limits, run the handler, add headers, and log the result."""
    began = time.perf_counter()
    app = request.app
    endpoint = app[TABLE].get(request.match_info.route)
    route = endpoint.route if endpoint else None
    request[REQUEST_ID] = request_id(request)
    failure: Exception | None = None
    try:
        hosts.require_own(request, app)
        if endpoint is not None:
            await admission.authenticate(request, endpoint.route, app)
            await admission.admit(request, endpoint.route, app)
            if endpoint.asks_model:
                await app[SERVICES].accounts.require_proven(request[ACCOUNT_ID])
            if endpoint.grows:
                admission.require_disk(app)
            async with _concurrency_limit(request, endpoint):
                try:
                    await _validate(request, endpoint)
                    response = await _handled(request, endpoint, handler)
                except (InvalidInput, NotFound):
                    await _require_own(request, endpoint.route)
                    raise
            if endpoint.tagged:
                response = conditional.or_not_modified(request, response)
        else:
            admission.admit_stranger(request, app)
            response = await unmatched.answer(request)
    except Exception as error:
        failure = error
        response = _refusal(request, error)
    if request.method not in SAFE and ACCOUNT_ID in request:
        app[SERVICES].supervisor.statuses.account_changed(request[ACCOUNT_ID])
    headers.add_to(response, request, app)
    access_log.record(request, route, response, time.perf_counter() - began, failure)
    return response


async def _handled(request: web.Request, endpoint: Endpoint, handler: Handler) -> web.StreamResponse:
    """The handler's response, or the stored response for a repeated Idempotency-Key.

    Raises Conflict if If-Match does not match.
    """

    async def handle() -> web.StreamResponse:
        if endpoint.read_first:
            await conditional.require_expected(request, endpoint.read_first)
        return await handler(request)

    return await (idempotency.once(request, handle) if endpoint.repeatable else handle())


def _concurrency_limit(request: web.Request, endpoint: Endpoint) -> AbstractAsyncContextManager[None]:
    """A context in which to handle the request. It limits how many reads and writes of an account run at once.

    For other requests, such as public ones, the context does nothing.
    """
    limit = endpoint.route.limit
    if endpoint.route.public or endpoint.waits or limit not in (LimitClass.READ, LimitClass.WRITE):
        return contextlib.nullcontext()
    return request.app[SEMAPHORES].semaphore_of(request[ACCOUNT_ID], limit)


def request_id(request: web.BaseRequest) -> str:
    """The X-Request-Id header of the request if it is valid, otherwise a new id."""
    given = request.headers.get("X-Request-Id")
    if given and _GIVEN_ID.fullmatch(given):
        return given
    return f"{_PROCESS}{next(_numbers):06x}"


async def _validate(request: web.Request, endpoint: Endpoint) -> None:
    if endpoint.query:
        request[QUERY] = load(endpoint.query, request.query)
    if endpoint.body:
        request[BODY] = load(endpoint.body, await bodies.read_object(request))
    else:
        bodies.refuse_large(request)


async def _require_own(request: web.Request, route: Route) -> None:
    """Raise NotFound if the object in the path, such as a book, does not exist or belongs to another account.

    Called after a request has failed. Its own error, such as one about the body, is then replaced by this error.
    """
    _, collection, *rest = route.path.split("/")
    table = TABLE_OF.get(collection)
    if table is None or "{id}" not in rest:
        return
    kind = "proofreading report" if table == "report" else table
    if not await owns(request.app[SERVICES].database.http, request[ACCOUNT_ID], table, path_id(request, kind=kind)):
        raise no_such(kind)


def _refusal(request: web.Request, error: Exception) -> web.Response:
    refusal = errors.as_domain_error(error, request[REQUEST_ID], request.path)
    response = errors.envelope(refusal, request.app[SERVICES].site.public_url)
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
    return response
