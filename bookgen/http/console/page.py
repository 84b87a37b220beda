"""The web page at `/`: static modules, one style sheet and the page that names them. It is a client of the API only."""

from __future__ import annotations

import asyncio
import gzip
import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

from aiohttp import web

from bookgen import errors
from bookgen.http.edge.contract import refuses
from bookgen.http.edge.keys import SITE

STATIC = Path(__file__).parent / "static"
CONTENT_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# What every first visit needs; a browser asks for it at once instead of one module after the other.
PRELOADED = (
    "api", "app", "format", "hooks", "idea", "live", "router", "session", "shelf", "sign", "signal", "site", "tile",
    "ui", "vendor/preact", "welcome",
)  # fmt: skip

# Nothing but this host is ever asked for anything, nothing inline runs, and no text becomes markup.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    content_type: str
    plain: bytes
    compressed: bytes


@dataclass(frozen=True, slots=True)
class Assets:
    """The static files by name. `version` is the digest of them all and part of their address."""

    version: str
    files: Mapping[str, Asset]


@cache
def assets() -> Assets:
    files = dict(sorted(_read()))
    digest = blake2b(digest_size=8)
    for name, asset in files.items():
        digest.update(name.encode() + b"\0" + asset.plain + b"\0")
    return Assets(digest.hexdigest(), files)


def _read() -> Iterator[tuple[str, Asset]]:
    for path in STATIC.rglob("*"):
        if path.suffix in CONTENT_TYPES:
            plain = path.read_bytes()
            compressed = gzip.compress(plain, mtime=0)
            yield path.relative_to(STATIC).as_posix(), Asset(CONTENT_TYPES[path.suffix], plain, compressed)


@refuses(errors.NotFound)
async def index(request: web.Request) -> web.Response:
    site = request.app[SITE]
    if not site.console:
        raise errors.NotFound
    version = (await asyncio.to_thread(assets)).version
    return web.Response(
        text=_index(f"{site.root}/console/{version}", site.site_name),
        content_type="text/html",
        headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"},
    )


@cache
def _index(folder: str, name: str) -> str:
    preloads = (f'<link rel="modulepreload" href="{folder}/{module}.js">' for module in PRELOADED)
    page = (STATIC.parent / "index.html").read_text("utf-8")
    filled = {"folder": folder, "name": html.escape(name), "preloads": "\n".join(preloads)}
    for key, value in filled.items():
        page = page.replace(f"{{{{{key}}}}}", value)
    return page


@refuses(errors.NotFound)
async def asset(request: web.Request) -> web.Response:
    """A file of this version. One of another version is not there: what it belongs with is gone as well."""
    known = await asyncio.to_thread(assets)
    found = known.files.get(request.match_info["name"])
    if found is None or request.match_info["version"] != known.version or not request.app[SITE].console:
        raise errors.NotFound
    headers = {"Content-Type": f"{found.content_type}; charset=utf-8", "Cache-Control": FOR_EVER}
    headers["Vary"] = "Accept-Encoding"
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=found.compressed, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=found.plain, headers=headers)
