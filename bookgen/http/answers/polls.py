"""Polls of a status that is kept: answered in one step, before the router, which costs half of the long way."""

from __future__ import annotations

import re
import time

from aiohttp import HttpVersion11, web
from aiohttp.helpers import rfc822_formatted_time

from bookgen.http.edge import access_log, headers, replies
from bookgen.http.edge.conditional import Known
from bookgen.http.edge.keys import ACCOUNT_ID, ACCOUNTS, LIMITER, OUTGOING, REQUEST_ID, SITE, SUPERVISOR, VERDICT
from bookgen.http.edge.middleware import request_id
from bookgen.http.edge.routing import Route
from bookgen.http.edge.whole import WholeAnswer, lines
from bookgen.limits import LimitClass

_PREFIX, _ID = "/api(?:/v1)?", "([0-9]{1,18})"


class Polls:
    """Polls that need nothing but what this process remembers.

    What their callers see is the same as the long way round, which everything else takes, refusals above all.
    """

    def __init__(self, app: web.Application, route: Route) -> None:
        self._app = app
        self._accounts, self._outgoing, self._limiter = app[ACCOUNTS], app[OUTGOING], app[LIMITER]
        self._statuses = app[SUPERVISOR].statuses
        self._always = lines(headers.of_site(app[SITE]))
        self._route = route
        self._path = re.compile(_PREFIX + route.path.replace("{id}", _ID))

    def answer(self, request: web.BaseRequest) -> WholeAnswer | None:
        """The answer, or None: then nothing was counted yet."""
        began = time.perf_counter()
        polled = self._path.fullmatch(request.raw_path)
        if polled is None or request.method != "GET" or request.body_exists:
            return None
        asked = request.headers
        if "Prefer" in asked or "Expect" in asked or not request.keep_alive or request.version != HttpVersion11:
            return None
        scheme, _, token = asked.get("Authorization", "").partition(" ")
        account_id = self._accounts.recognized(token) if scheme == "Bearer" else None
        if account_id is None or not self._outgoing.has_room(account_id):
            return None
        body = self._statuses.kept(account_id, int(polled[1]))
        if body is None:
            return None
        verdict = self._limiter.take(LimitClass.READ, account_id)
        if not verdict.allowed:  # of nobody who is refused is anything taken
            return None
        request[REQUEST_ID], request[ACCOUNT_ID], request[VERDICT] = request_id(request), account_id, verdict
        response = self._whole(request, body)
        access_log.record(request, self._route, response, time.perf_counter() - began, None)
        return response

    def _whole(self, request: web.BaseRequest, body: bytes) -> WholeAnswer:
        known, said = Known(request), {"Date": rfc822_formatted_time(), **headers.of_request(request, self._app)}
        if known(body):
            return WholeAnswer(304, self._always + lines(said | {"ETag": known.tag}))
        said |= {"Content-Type": replies.JSON, "Content-Length": str(len(body)), "ETag": known.tag}
        return WholeAnswer(200, self._always + lines(said), body)
