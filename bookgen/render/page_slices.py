"""Cuts some pages out of the encoded JSON of a preview."""

from __future__ import annotations


def some_pages(encoded: bytes, first: int, count: int) -> bytes:
    """The encoded preview with only `count` pages from page number `first`. Empty if there is no such page.

    The JSON is megabytes long, so it is not parsed. A page is found by the text at its start, which cannot occur in its
    HTML because quotes are escaped in JSON.
    """
    start, end = (encoded.find(b'{"number":%d,"kind":' % number) for number in (first, first + count))
    if start < 0:
        return b""
    head = encoded[: encoded.index(b"[") + 1]
    return head + (encoded[start:] if end < 0 else encoded[start:end].removesuffix(b",") + b"]}")
