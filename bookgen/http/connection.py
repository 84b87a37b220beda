"""Bytes that are no HTTP request never come to the middleware; they too are answered in the envelope."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from aiohttp import web

from bookgen.errors import BookgenError, InvalidInput
from bookgen.http import clients, errors, headers, journal
from bookgen.http.keys import LIMITER, REQUEST_ID, SITE, VERDICT
from bookgen.http.middleware import request_id
from bookgen.limits import LimitClass, address_bucket


class Server(web.Server):
    """aiohttp's, with connections of ours."""

    def __init__(self, app: web.Application, handler: Any, **options: Any) -> None:
        super().__init__(handler, **options)
        self._app = app

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self._app, loop=asyncio.get_running_loop(), **self._kwargs)


class Connection(web.RequestHandler):
    __slots__ = ("_app",)

    def __init__(self, server: Server, app: web.Application, **options: Any) -> None:
        super().__init__(server, **options)
        self._app = app

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        super().handle_error(request, status, exc, message)  # logs, and gives up an answer that was begun
        request[REQUEST_ID] = request_id(request)
        request[VERDICT] = self._app[LIMITER].take(
            LimitClass.PUBLIC, address_bucket(clients.address(request, self._app))
        )
        error = (
            BookgenError("Something went wrong on our side.", request_id=request[REQUEST_ID])
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR
            else InvalidInput(non_field_errors=["The request could not be read."])
        )
        response = errors.envelope(error, self._app[SITE].public_url)
        headers.add_to(response, request, self._app)
        journal.record(request, None, response, 0.0, None)
        response.force_close()
        return response
