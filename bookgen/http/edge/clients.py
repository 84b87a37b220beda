"""Finds the IP address of the client that sent a request."""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from aiohttp import web

from bookgen.http.edge.keys import SERVICES, UNKNOWN_PROXIES
from bookgen.rate_limits import Network, client_address, parse_address

log = structlog.get_logger(__name__)

TRUST_IT = "If this proxy is yours, add its address to BOOKGEN_TRUSTED_PROXIES."


def address(request: web.BaseRequest, app: web.Application) -> str:
    """The address of the connection or, if it comes from a trusted proxy, the client's address in X-Forwarded-For."""
    trusted, peer = app[SERVICES].site.trusted_proxies, request.remote or ""
    # For a request that aiohttp could not parse, the headers are an empty dict.
    forwarded = request.headers.getall("X-Forwarded-For", ()) if request.headers else ()
    if forwarded and not app[UNKNOWN_PROXIES] and not is_proxy(peer, trusted):
        app[UNKNOWN_PROXIES].add(peer)
        log.warning("proxy_is_not_trusted", peer=peer, to_do=TRUST_IT)
    return client_address(peer, forwarded, trusted) if trusted else peer


def is_proxy(address: str, trusted: Iterable[Network]) -> bool:
    """Whether the address belongs to a trusted proxy."""
    parsed = parse_address(address)
    return parsed is not None and any(parsed in network for network in trusted)
