"""`Idempotency-Key`: a request that is repeated with the same key gets the first response and has no further effect.

Only successful responses are stored. If a request failed, or its process died, the key can be used again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable

import orjson
import structlog
from aiohttp import web

from bookgen.errors import IdempotencyKeyInUse, IdempotencyKeyReused, InvalidInput, Unavailable
from bookgen.http.edge import bodies, replies
from bookgen.http.edge.keys import ACCOUNT_ID, REREAD_BOOK, SERVICES, SHOWN_BOOK
from bookgen.store import idempotency
from bookgen.store.idempotency import KeyedAnswer, KeyedRequest

log = structlog.get_logger(__name__)

HEADER, REPLAYED = "Idempotency-Key", "Idempotent-Replayed"
MAX_ANSWER_BYTES = 256 << 10  # a larger answer is not stored: it shows a book, which is read again instead
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


async def once(request: web.Request, handle: Callable[[], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """The response of `handle`, or the stored response if the account has used the request's Idempotency-Key before.

    Raises an error if the key was used for a different request, or if the first request is still in progress.
    """
    if HEADER not in request.headers:
        return await handle()
    db = request.app[SERVICES].database.http
    keyed = KeyedRequest(
        request[ACCOUNT_ID],
        _key(request),
        await _fingerprint(request),
        request.app[SERVICES].supervisor.resources.boot_id,
    )
    if (found := await idempotency.claim(db, keyed)) is not None:
        return await _repeated(request, keyed, found)
    try:
        response = await handle()
    except BaseException:
        await _settle(idempotency.release(db, keyed))
        raise
    body = response.body if isinstance(response, web.Response) and isinstance(response.body, bytes) else None
    answer = body if body is not None and len(body) <= MAX_ANSWER_BYTES else None
    await _settle(idempotency.keep(db, keyed, response.status, answer, request.get(SHOWN_BOOK)))
    return response


async def _repeated(request: web.Request, keyed: KeyedRequest, found: KeyedAnswer) -> web.StreamResponse:
    if found.request != keyed.request:
        raise IdempotencyKeyReused
    if found.status is None:
        raise IdempotencyKeyInUse
    if found.answer is not None:
        return replies.encoded(found.answer, status=found.status, headers={REPLAYED: "true"})
    response = await request.app[REREAD_BOOK](request, found.book_id or 0, code=found.status)
    response.headers[REPLAYED] = "true"
    return response


async def _settle(storing: Awaitable[None]) -> None:
    """Store the outcome of a request. If the database is down, log that and raise nothing.

    The request itself was carried out, so the caller must not get an error.
    """
    try:
        await storing
    except Unavailable as error:
        log.warning(
            "idempotency_key_not_settled",
            reason=str(error),
            what="A request has ended, but its answer could not be stored under its Idempotency-Key.",
        )


def _key(request: web.Request) -> str:
    key = request.headers[HEADER].strip()
    if len(request.headers.getall(HEADER)) > 1 or not _KEY.fullmatch(key):
        raise InvalidInput(non_field_errors=[f"Send one {HEADER} header with 1 to 255 printable ASCII characters."])
    return key


async def _fingerprint(request: web.Request) -> bytes:
    """A hash of the method, the path without its API prefix, and the body with sorted keys."""
    path = re.sub(r"^/api/(v1/)?", "/", request.path_qs)
    body = orjson.dumps(await bodies.read_object(request), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(b"\n".join((request.method.encode(), path.encode(), body))).digest()
