"""Books and chapters as the contract shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from aiohttp import web

from bookgen.actors import status
from bookgen.errors import NotFound
from bookgen.http.edge import replies
from bookgen.http.edge.keys import ACCOUNT_ID, DATABASE, ESTIMATE, SITE, SUPERVISOR
from bookgen.models import Book, Chapter
from bookgen.store import books, chapters, runs, stats
from bookgen.store.runs import RunReport


async def book_answer(request: web.Request, book_id: int, *, code: int = 200) -> web.Response:
    """The whole book in its detail form; NotFound unless it is the caller's."""
    async with request.app[DATABASE].http.acquire() as connection:
        book = await books.find(connection, request[ACCOUNT_ID], book_id)
        if book is None:
            raise NotFound
        written = await chapters.of_book(connection, book_id)
        usage = asdict(await stats.book_usage(connection, book_id)) | {"currency": request.app[SITE].currency}
        findings = await chapters.findings(connection, book_id)
    estimate = request.app[ESTIMATE](book, written) if written else None
    body = {
        **listed_book(book, len(written), sum(chapter.word_count for chapter in written)),
        "generation_progress": await progress(request, book_id),
        "chapters": [chapter_body(chapter) for chapter in written],
        "covers": [],
        "quality": findings,
        "usage": usage,
        "estimated_cost_micros": estimate and estimate.cost_micros,
        "estimated_seconds": estimate and estimate.seconds,
    }
    return replies.json(body, status=code)


async def list_answer(request: web.Request, listed: Sequence[books.ListedBook]) -> list[dict[str, Any]]:
    """Books in their list form, with the progress of those that had a run."""
    reports = await runs.reports(request.app[DATABASE].http, request[ACCOUNT_ID])
    return [
        listed_book(each.book, each.chapters_count, each.word_count)
        | {"generation_progress": _progress_of(reports.get(each.book.id))}
        for each in listed
    ]


def _progress_of(report: RunReport | None) -> dict[str, Any] | None:
    return {k: v for k, v in status.as_json(report).items() if k != "outline"} if report else None


async def progress(request: web.Request, book_id: int) -> dict[str, Any] | None:
    """GenerationStatus without its outline; None for a book that never had a run."""
    try:
        encoded = await request.app[SUPERVISOR].generation_status(request[ACCOUNT_ID], book_id)
    except NotFound:
        return None
    body: dict[str, Any] = orjson.loads(encoded)
    del body["outline"]
    return body


def listed_book(book: Book, chapters_count: int, word_count: int) -> dict[str, Any]:
    return {
        "id": book.id,
        "title": book.title,
        "subtitle": book.subtitle,
        "author_name": book.author_name,
        "genre": book.genre,
        "target_audience": book.target_audience,
        "description": book.description,
        "style_notes": book.style_notes,
        "chapter_count": book.chapter_count,
        "target_word_count": book.target_word_count,
        "trim_size": book.trim_size,
        "content_language": book.content_language,
        "status": book.status,
        "generation_progress": None,
        "cover_image_url": None,
        "chapters_count": chapters_count,
        "word_count": word_count,
        "funding_source": book.funding_source,
        "created_at": book.created_at,
        "updated_at": book.updated_at,
    }


def chapter_body(chapter: Chapter) -> dict[str, Any]:
    return {
        "id": chapter.id,
        "book": chapter.book_id,
        "chapter_number": chapter.chapter_number,
        "title": chapter.title,
        "summary": chapter.summary,
        "content": chapter.content,
        "word_count": chapter.word_count,
        "target_word_count": chapter.target_word_count,
        "status": chapter.status,
        "illustrations": [],
        "created_at": chapter.created_at,
        "updated_at": chapter.updated_at,
    }
