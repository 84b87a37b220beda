"""Sends the chapters of large responses in pieces: each piece is read from the database and encoded separately."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from bookgen.http.chapters_schemas import shown_chapter
from bookgen.http.edge import large_answers, replies
from bookgen.http.edge.keys import ACCOUNT_ID, SEMAPHORES, SERVICES
from bookgen.models import Chapter
from bookgen.rate_limits import LimitClass
from bookgen.store import chapters
from bookgen.store.chapters import Sketch

Pictures = Mapping[int, Sequence[Mapping[str, Any]]]  # by chapter id

Pick = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # selects the fields of a chapter that the answer has


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
    """A JSON response, sent in pieces: the bytes `before`, the chapters separated by commas, and the bytes `after`.

    `pick` selects the fields of each chapter; the default is all fields. Raises PayloadTooLarge if the chapters
    together are larger than MAX_RESPONSE_BYTES.

    While a piece is being sent, no database connection is in use, and the next piece is not in memory yet. If a chapter
    changes before its piece is read, the new text is sent with the ETag of the old text.
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
        # At most two of an account's reads run at once, however many of its answers are being sent.
        async with request.app[SEMAPHORES].semaphore_of(request[ACCOUNT_ID], LimitClass.READ):
            found = await chapters.some(request.app[SERVICES].database.http, request[ACCOUNT_ID], batch)
        for chapter in found:  # without chapters that were deleted in the meantime
            yield comma + piece_of(chapter, pictures, pick)
            comma = b","
    yield after


def piece_of(chapter: Chapter, pictures: Pictures, pick: Pick = dict) -> bytes:
    """The chapter as JSON, with its text and pictures. Only the fields that `pick` selects are included."""
    return replies.dump(pick(shown_chapter(chapter, pictures.get(chapter.id, ()))))
