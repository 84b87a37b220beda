"""The headers that every response has."""

from __future__ import annotations

from aiohttp import web

from bookgen.http.edge import clients, cors
from bookgen.http.edge.keys import REQUEST_ID, SERVICES, VERDICT, Site
from bookgen.rate_limits import LimitClass, address_bucket

ALWAYS = {
    "X-API-Version": "v1",
    "X-API-Version-Latest": "v1",
    "Server": "bookgen",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": (
        "accelerometer=(), browsing-topics=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(), "
        "microphone=(), payment=(), usb=()"
    ),
}
# Defaults: an answer that sets one of these headers itself keeps its own value.
UNLESS_SAID = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def add_to(response: web.StreamResponse, request: web.BaseRequest, app: web.Application) -> None:
    headers = _of_site(app[SERVICES].site) | _of_request(request, app)
    for name in UNLESS_SAID:
        if name in response.headers:
            del headers[name]
    response.headers.extend(headers)


def _of_site(site: Site) -> dict[str, str]:
    """The headers that all responses of this process have, unless a response sets its own."""
    headers = ALWAYS | UNLESS_SAID
    if site.secure:
        headers["Strict-Transport-Security"] = "max-age=31536000; includeSubDomains"
    if site.deprecation:
        headers.update(site.deprecation.headers())
    return headers


def _of_request(request: web.BaseRequest, app: web.Application) -> dict[str, str]:
    """The headers that depend on the request: the request id, the caller's rate limit, and CORS."""
    site = app[SERVICES].site
    verdict = request.get(VERDICT) or app[SERVICES].limiter.peek(
        LimitClass.PUBLIC, address_bucket(clients.address(request, app))
    )
    headers = {
        "X-Request-Id": request[REQUEST_ID],
        "RateLimit-Limit": str(verdict.limit),
        "RateLimit-Remaining": str(verdict.remaining),
        "RateLimit-Reset": str(verdict.reset),
    }
    if site.allowed_origins:
        headers.update(cors.headers(request.headers.get("Origin"), site.allowed_origins))
    return headers
