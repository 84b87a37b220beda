"""The host names under which the service may be called, as a protection against DNS rebinding.

An attacker can point a domain at this machine. A browser then treats this service as part of the attacker's site, whose
scripts could read everything that needs no token. Such requests have the attacker's domain in the Host header.
"""

from __future__ import annotations

from functools import cache
from urllib.parse import urlsplit

from aiohttp import web

from bookgen.errors import InvalidInput
from bookgen.http.edge import clients
from bookgen.http.edge.keys import SERVICES
from bookgen.rate_limits import parse_address


def require_own(request: web.Request, app: web.Application) -> None:
    """Raise InvalidInput if the Host header has a name that does not belong to this service.

    IP addresses are accepted. So is a request without the header: browsers always send one, so no browser made it. A
    trusted proxy on another machine may send any name.
    """
    given, site = request.headers.get("Host"), app[SERVICES].site
    if given is None:
        return
    name = name_of(given)
    if name in _own_names(site.public_url, site.allowed_origins) or is_loopback(name) or parse_address(name):
        return
    if clients.is_proxy(request.remote or "", site.trusted_proxies) and not is_loopback(request.remote or ""):
        return  # a trusted proxy on another machine may use any name for the service
    raise InvalidInput(
        non_field_errors=[
            f"This service does not accept requests for the host {given[:100]!r}. Use the service's public address. "
            "If you run the service and that host is one of its names, set BOOKGEN_PUBLIC_URL to it or add it to "
            "BOOKGEN_ALLOWED_ORIGINS."
        ]
    )


def name_of(host: str) -> str:
    """The name or IP address in a Host header, without the port; empty if the header is malformed."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    address = parse_address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


@cache
def _own_names(public_url: str, origins: frozenset[str]) -> frozenset[str]:
    return frozenset(name for url in (public_url, *origins) if (name := urlsplit(url).hostname))
