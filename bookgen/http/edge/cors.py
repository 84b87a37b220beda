"""CORS: lets browsers call this service from other allowed origins, always without cookies."""

from __future__ import annotations

from collections.abc import Collection

_EXPOSED = ", ".join([
    "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After", "X-Request-Id", "X-API-Version",
    "X-API-Version-Latest", "Deprecation", "Sunset", "Link", "ETag", "Content-Disposition", "WWW-Authenticate",
    "Preference-Applied", "X-Missing-Chapters", "Idempotent-Replayed",
])  # fmt: skip
_ACCEPTED = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Request-Id, X-Browser-Fingerprint"
)


def headers(origin: str | None, allowed: Collection[str]) -> dict[str, str]:
    if origin not in allowed:
        return {"Vary": "Origin"}
    return {"Vary": "Origin", "Access-Control-Allow-Origin": str(origin), "Access-Control-Expose-Headers": _EXPOSED}


def preflight(methods: Collection[str]) -> dict[str, str]:
    return {
        "Access-Control-Allow-Methods": ", ".join(sorted(methods)),
        "Access-Control-Allow-Headers": _ACCEPTED,
        "Access-Control-Max-Age": "600",
    }
