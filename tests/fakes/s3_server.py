"""A fake bucket: the part of S3's protocol that bookgen uses, with verified signatures.

    async with S3Server() as server:
        server.url                         # for BOOKGEN_S3_ENDPOINT
        server.environment                 # all settings to use it
        server.objects                     # bytes by key
        server.before = wait               # an async function called with method and key before each response
        server.broken = 503                # the status of every response

Only the bucket "books" exists, and only KEY_ID may use it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from typing import Self
from urllib.parse import quote

from aiohttp import web
from aiohttp.test_utils import TestServer

BUCKET = "books"
KEY_ID, SECRET, REGION = "AKIDBOOKGEN", "secret/of+the/bucket", "eu-north-9"


class S3Server:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.calls: list[tuple[str, str]] = []
        self.broken = 0
        self.before: Callable[[str, str], Awaitable[None]] | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{bucket}/{key:.+}", self._answer)
        self._server = TestServer(app)
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "BOOKGEN_S3_ENDPOINT": self.url,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
        }

    async def _answer(self, request: web.Request) -> web.Response:
        key = request.match_info["key"]
        body = await request.read()
        self.calls.append((request.method, key))
        if self.before:
            await self.before(request.method, key)
        if self.broken:
            return _error(self.broken, "InternalError")
        if not _is_signed(request, body):
            return _error(403, "SignatureDoesNotMatch")
        if request.match_info["bucket"] != BUCKET:
            return _error(404, "NoSuchBucket")
        match request.method:
            case "PUT":
                self.objects[key] = body
                return web.Response(headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})
            case "GET" if key in self.objects:
                modified = {"Last-Modified": "Sat, 28 Nov 2026 09:00:00 GMT", "ETag": '"one"'}
                return web.Response(body=self.objects[key], headers=modified)
            case "GET":
                return _error(404, "NoSuchKey")
            case "DELETE":
                self.objects.pop(key, None)
                return web.Response(status=204)
        return _error(405, "MethodNotAllowed")


def _error(status: int, code: str) -> web.Response:
    text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>scripted</Message></Error>"
    return web.Response(status=status, text=text, content_type="application/xml")


def _is_signed(request: web.Request, body: bytes) -> bool:
    """Whether the request has a valid AWS Signature Version 4 by KEY_ID for this body."""
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
    if scheme != "AWS4-HMAC-SHA256" or not parts.get("Credential", "").startswith(f"{KEY_ID}/"):
        return False
    digest = request.headers["x-amz-content-sha256"]
    if digest not in ("UNSIGNED-PAYLOAD", hashlib.sha256(body).hexdigest()):
        return False
    named = parts["SignedHeaders"].split(";")
    query = "&".join(sorted(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in request.query.items()))
    canonical = "\n".join(
        [request.method, quote(request.path), query]
        + [f"{name}:{' '.join(request.headers[name].split())}" for name in named]
        + ["", parts["SignedHeaders"], digest]
    )
    scope = parts["Credential"].partition("/")[2]
    signed = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join([scheme, request.headers["x-amz-date"], scope, signed])
    key = f"AWS4{SECRET}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(key.hex(), parts["Signature"])
