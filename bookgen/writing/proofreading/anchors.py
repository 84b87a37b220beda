"""Finds a quoted passage in a text, even after the text has changed, but only if there is no doubt."""

from __future__ import annotations

CERTAIN = 12  # characters: a quotation this long that occurs once, with unchanged text on one side, is the same passage


def find(content: str, quote: str, prefix: str = "", suffix: str = "") -> int | None:
    """The offset of `quote`; None if it is not in the text or its place is in doubt.

    Among equal passages, the text around the quote (`prefix` and `suffix`) decides.
    """
    if not quote:
        return None
    place = _only(content, f"{prefix}{quote}{suffix}")
    if place is not None:
        return place + len(prefix)
    if len(quote) < CERTAIN or (place := _only(content, quote)) is None:
        return None
    near, next_to = prefix[-CERTAIN:], suffix[:CERTAIN]
    as_before = len(near) == CERTAIN and _before(content, place, near)
    return place if as_before or (len(next_to) == CERTAIN and _after(content, place, quote, next_to)) else None


def find_again(content: str, start: int, quote: str, prefix: str, suffix: str) -> int | None:
    """The offset of a passage that was at `start` before the text changed; None if it is gone or its place is in doubt.

    `prefix` and `suffix`: the text around the passage at that time, shorter only at the beginning and end of the text.
    """
    whole = f"{prefix}{quote}{suffix}"
    if len(whole) < 2 * CERTAIN and content != whole:
        return None
    in_place = content.startswith(quote, start) and _before(content, start, prefix)
    if in_place and _after(content, start, quote, suffix):
        return start
    return find(content, quote, prefix, suffix)


def _only(content: str, passage: str) -> int | None:
    """The offset of the passage if it occurs exactly once, else None."""
    place = content.find(passage)
    return place if place >= 0 and content.find(passage, place + 1) < 0 else None


def _before(content: str, place: int, prefix: str) -> bool:
    return content.endswith(prefix, 0, place)


def _after(content: str, place: int, quote: str, suffix: str) -> bool:
    return content.startswith(suffix, place + len(quote))
