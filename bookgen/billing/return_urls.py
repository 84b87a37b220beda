"""The URLs to which a hosted payment page may send the buyer back."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from bookgen.errors import InvalidInput


def checked_url(field: str, url: str | None, default: str, origins: Collection[str]) -> str:
    """`url`, or `default` if it is None. Raises InvalidInput, about `field`, if its origin is not one of `origins`.

    This prevents redirects to foreign sites.
    """
    if url is None:
        return default
    try:
        origin = origin_of(url)
    except ValueError:
        origin = ""
    # Browsers treat a backslash as a slash; urlsplit does not.
    if origin not in origins or "\\" in url or any(ord(character) < 33 for character in url):
        raise InvalidInput(**{field: ["The URL must belong to this service or to an origin that its operator allows."]})
    return url


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
