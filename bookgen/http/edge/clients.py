"""Where a request comes from."""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from aiohttp import web

from bookgen.http.edge.keys import SERVICES, UNKNOWN_PROXIES
from bookgen.limits import Network, client_address, parse_address

log = structlog.get_logger(__name__)


def address(request: web.BaseRequest, app: web.Application) -> str:
    """The socket's peer, or what a trusted proxy says of it."""
    trusted, peer = app[SERVICES].site.trusted_proxies, request.remote or ""
    # Of a request that could not be read aiohttp has no headers, and an empty dict in their place.
    forwarded = request.headers.getall("X-Forwarded-For", ()) if request.headers else ()
    if forwarded and not app[UNKNOWN_PROXIES] and not is_proxy(peer, trusted):
        app[UNKNOWN_PROXIES].add(peer)
        log.warning("proxy_is_not_trusted", peer=peer, to_do="If it is yours, name it in BOOKGEN_TRUSTED_PROXIES.")
    return client_address(peer, forwarded, trusted) if trusted else peer


def is_proxy(address: str, trusted: Iterable[Network]) -> bool:
    """Whether the address is that of a trusted proxy."""
    parsed = parse_address(address)
    return parsed is not None and any(parsed in network for network in trusted)
