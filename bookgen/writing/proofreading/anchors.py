"""Where a quoted passage stands in a text, also after the text has changed: found beyond doubt or not at all."""

from __future__ import annotations

from collections.abc import Iterator

CERTAIN = 12  # characters: a quotation of this length that stands once, on one of its sides as before, is the same


def find(content: str, quote: str, prefix: str = "", suffix: str = "") -> int | None:
    """The offset of `quote`, told from others like it by what stands before and after it; None in any doubt."""
    places = list(_occurrences(content, quote))
    exact = [place for place in places if _before(content, place, prefix) and _after(content, place, quote, suffix)]
    if len(exact) == 1 and (prefix or suffix or len(places) == 1):
        return exact[0]
    if len(places) == 1 and len(quote) >= CERTAIN:
        place, near, next_to = places[0], prefix[-CERTAIN:], suffix[:CERTAIN]
        before = len(near) == CERTAIN and _before(content, place, near)
        if before or (len(next_to) == CERTAIN and _after(content, place, quote, next_to)):
            return place
    return None


def find_again(content: str, start: int, quote: str, prefix: str, suffix: str) -> int | None:
    """The offset of a passage that was at `start`; its prefix and suffix are short where the text began or ended."""
    whole = f"{prefix}{quote}{suffix}"
    if len(whole) < 2 * CERTAIN and content != whole:
        return None
    in_place = content.startswith(quote, start) and _before(content, start, prefix)
    if in_place and _after(content, start, quote, suffix):
        return start
    return find(content, quote, prefix, suffix)


def moved(start: int, end: int, edit_start: int, edit_end: int, length: int) -> tuple[int, int] | None:
    """The span after `content[edit_start:edit_end]` became `length` characters; None when the edit touches it."""
    if end <= edit_start and (start, end) != (edit_start, edit_end):
        return start, end
    if start >= edit_end:
        shift = length - (edit_end - edit_start)
        return start + shift, end + shift
    return None


def _occurrences(content: str, quote: str) -> Iterator[int]:
    place = content.find(quote) if quote else -1
    while place >= 0:
        yield place
        place = content.find(quote, place + 1)


def _before(content: str, place: int, prefix: str) -> bool:
    return content.endswith(prefix, 0, place)


def _after(content: str, place: int, quote: str, suffix: str) -> bool:
    return content.startswith(suffix, place + len(quote))
