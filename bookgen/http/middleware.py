"""What happens to every request, in one visible order, around its handler."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Mapping

from aiohttp import web

from bookgen.http import admission, bodies, conditional, contract, errors, headers, journal, unmatched
from bookgen.http.keys import BODY, CLIENT, QUERY, REQUEST_ID, SITE
from bookgen.http.routing import Handler, Route
from bookgen.http.schemas import load
from bookgen.limits import client_address

TABLE: web.AppKey[Mapping[web.AbstractRoute, Route]] = web.AppKey("table")

_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PROCESS = secrets.token_hex(5)
_numbers = itertools.count(1)


@web.middleware
async def edge(request: web.Request, handler: Handler) -> web.StreamResponse:
    """One request. The order of the steps is the order of the lines."""
    began = time.perf_counter()
    route = request.app[TABLE].get(request.match_info.route)
    request[REQUEST_ID] = request_id(request)
    request[CLIENT] = _client(request)
    failure: Exception | None = None
    try:
        if route is not None:
            await admission.authenticate(request, route)
            await admission.admit(request, route)
            await _validate(request, route)
            response = await handler(request)
            if contract.is_conditional(route.handler):
                response = conditional.unless_known(request, response)
        else:
            admission.admit_stranger(request)
            response = await unmatched.answer(request)
    except Exception as error:
        failure = error
        response = _refusal(request, error)
    headers.add_to(response, request, request.app)
    journal.record(request, route, response, time.perf_counter() - began, failure)
    return response


def request_id(request: web.BaseRequest) -> str:
    """The caller's own, if it is fit to be repeated."""
    given = request.headers.get("X-Request-Id")
    if given and _GIVEN_ID.fullmatch(given):
        return given
    return f"{_PROCESS}{next(_numbers):06x}"


def _client(request: web.Request) -> str:
    trusted = request.app[SITE].trusted_proxies
    if not trusted:
        return request.remote or ""
    return client_address(request.remote, request.headers.getall("X-Forwarded-For", ()), trusted)


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
