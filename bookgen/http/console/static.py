"""The files of the web page. They are read and compressed once, and their URLs contain a hash of all files."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

from aiohttp import web

from bookgen import errors
from bookgen.http.edge.contract import refuses

FOLDER = Path(__file__).parent / "files"
CONTENT_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    content_type: str
    plain: bytes
    compressed: bytes


@dataclass(frozen=True, slots=True)
class Assets:
    """The files of the web page, by name. `version`: a hash of all files, which is part of their URLs."""

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
    for path in FOLDER.rglob("*"):
        if path.suffix in CONTENT_TYPES:
            plain = path.read_bytes()
            compressed = gzip.compress(plain, mtime=0)
            yield path.relative_to(FOLDER).as_posix(), Asset(CONTENT_TYPES[path.suffix], plain, compressed)


@refuses(errors.NotFound)
async def asset(request: web.Request) -> web.Response:
    """The file named in the URL. Raises NotFound if the URL is for an older version, which is no longer available."""
    known = await asyncio.to_thread(assets)
    found = known.files.get(request.match_info["name"])
    if found is None or request.match_info["version"] != known.version:
        raise errors.NoSuchPath
    headers = {"Content-Type": f"{found.content_type}; charset=utf-8", "Cache-Control": FOR_EVER}
    headers["Vary"] = "Accept-Encoding"
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=found.compressed, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=found.plain, headers=headers)
