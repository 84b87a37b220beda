"""Chapters in large answers, read and encoded a piece at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from bookgen.http.chapters_schemas import shown_chapter
from bookgen.http.edge import large_answers, replies
from bookgen.http.edge.keys import ACCOUNT_ID, LINES, SERVICES
from bookgen.models import Chapter
from bookgen.rate_limits import LimitClass
from bookgen.store import chapters
from bookgen.store.chapters import Sketch

Pictures = Mapping[int, Sequence[Mapping[str, Any]]]

Pick = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def in_pieces(
    request: web.Request,
    sketches: Sequence[Sketch],
    pictures: Pictures,
    *,
    before: bytes,
    after: bytes,
    status: int = 200,
    pick: Pick = dict,
) -> large_answers.InPieces:
    """JSON with the list of chapters between `before` and `after`. Raises PayloadTooLarge.

    `pick` selects the fields that the answer has. While the caller reads a piece, neither a connection nor the next
    piece is held. A chapter that is saved meanwhile is sent in its new version, under the ETag of the old one.
    """
    large_answers.require_sendable(sum(each.bytes for each in sketches))
    versions = [(each.chapter.content_version, shown_chapter(each.chapter, ())) for each in sketches]
    tag = large_answers.tag_of(replies.dump([before, after, versions, list(pictures.items())]))
    return large_answers.InPieces(tag, _pieces(request, sketches, pictures, before, after, pick), status=status)


async def _pieces(
    request: web.Request, sketches: Sequence[Sketch], pictures: Pictures, before: bytes, after: bytes, pick: Pick
) -> AsyncIterator[bytes]:
    yield before
    comma = b""
    for batch in large_answers.batches([(each.chapter.id, each.bytes) for each in sketches]):
        # One read at a time per account, however many of its answers are being sent.
        async with request.app[LINES].turn(request[ACCOUNT_ID], LimitClass.READ):
            found = await chapters.some(request.app[SERVICES].database.http, request[ACCOUNT_ID], batch)
        for chapter in found:  # deleted ones are left out
            yield comma + piece_of(chapter, pictures, pick)
            comma = b","
    yield after


def piece_of(chapter: Chapter, pictures: Pictures, pick: Pick = dict) -> bytes:
    """A chapter as JSON, with its text and its pictures."""
    return replies.dump(pick(shown_chapter(chapter, pictures.get(chapter.id, ()))))
