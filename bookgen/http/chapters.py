"""Chapters: reading, the editor's save path, rewriting by the model, and former texts."""

from __future__ import annotations

from contextlib import aclosing

from aiohttp import web

from bookgen import errors
from bookgen.http.budgets import require_budgets
from bookgen.http.chapters_schemas import Chapter, ChapterChanges, Revision, RevisionListed
from bookgen.http.edge import replies
from bookgen.http.edge.contract import conditional, docs, json_schema, refuses, response_schema
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, DATABASE, SUPERVISOR
from bookgen.http.edge.routing import path_id
from bookgen.http.representations import chapter_body
from bookgen.models import RevisionOrigin
from bookgen.store import chapters, revisions, runs


@docs(tags=["chapters"], summary="List every chapter of your books, newest book first")
@response_schema(Chapter(many=True))
@conditional
async def list_chapters(request: web.Request) -> web.Response:
    # One by one: all the texts at once would hold up everybody else's answers.
    async with aclosing(chapters.of_account(request.app[DATABASE].http, request[ACCOUNT_ID])) as found:
        encoded = [replies.dump(chapter_body(chapter)) async for chapter in found]
    return replies.encoded(b"[" + b",".join(encoded) + b"]")


@docs(tags=["chapters"], summary="Read a chapter")
@response_schema(Chapter)
@conditional
async def read_chapter(request: web.Request) -> web.Response:
    chapter = await chapters.find(request.app[DATABASE].http, request[ACCOUNT_ID], path_id(request))
    if chapter is None:
        raise errors.NotFound
    return replies.json(chapter_body(chapter))


@docs(tags=["chapters"], summary="Save a chapter", description="A text that is overwritten is kept as a revision.")
@json_schema(ChapterChanges)
@response_schema(Chapter)
@refuses(errors.PlanUpgradeRequired)
async def change_chapter(request: web.Request) -> web.Response:
    return await _save(request, request[BODY], RevisionOrigin.EDITOR)


@docs(
    tags=["chapters"],
    summary="Have the chapter written again",
    description="Synchronous. The former text is kept as a revision. Counts as an AI edit once it is there.",
)
@response_schema(Chapter)
@refuses(errors.GenerationInProgress, errors.Conflict, errors.QuotaExceeded, errors.UpstreamAIError)
async def regenerate_chapter(request: web.Request) -> web.Response:
    db, account_id, chapter_id = request.app[DATABASE].http, request[ACCOUNT_ID], path_id(request)
    if await chapters.find(db, account_id, chapter_id) is None:
        raise errors.NotFound
    await request.app[SUPERVISOR].rewrite_chapter(account_id, chapter_id)
    return await read_chapter(request)


@docs(tags=["revisions"], summary="List a chapter's former texts, newest first")
@response_schema(RevisionListed(many=True))
async def list_revisions(request: web.Request) -> web.Response:
    db, chapter_id = request.app[DATABASE].http, path_id(request)
    if await chapters.find(db, request[ACCOUNT_ID], chapter_id) is None:
        raise errors.NotFound
    found = await revisions.of_chapter(db, request[ACCOUNT_ID], chapter_id)
    return replies.json([_listed_revision(revision) for revision in found])


@docs(tags=["revisions"], summary="Read a former text")
@response_schema(Revision)
async def read_revision(request: web.Request) -> web.Response:
    revision = await _revision(request)
    return replies.json(_listed_revision(revision) | {"content": revision.content})


@docs(
    tags=["revisions"],
    summary="Put a former text back",
    description="The text that it replaces becomes a revision in its turn. Answers the chapter.",
)
@response_schema(Chapter)
async def restore_revision(request: web.Request) -> web.Response:
    revision = await _revision(request)
    return await _save(request, {"content": revision.content}, RevisionOrigin.RESTORE)


async def _save(request: web.Request, changes: dict[str, object], origin: RevisionOrigin) -> web.Response:
    async with request.app[DATABASE].http.acquire() as connection, connection.transaction():
        if "target_word_count" in changes:
            await runs.lock_slot(connection, request[ACCOUNT_ID])  # no run is accepted for another length meanwhile
        chapter = await chapters.edit(connection, request[ACCOUNT_ID], path_id(request), changes, origin)
        if chapter is None:
            raise errors.NotFound
        if "target_word_count" in changes:
            await require_budgets(request, connection, chapter.book_id)
    return replies.json(chapter_body(chapter))


async def _revision(request: web.Request) -> revisions.Revision:
    revision = await revisions.find(
        request.app[DATABASE].http, request[ACCOUNT_ID], path_id(request), path_id(request, "revision_id")
    )
    if revision is None:
        raise errors.NotFound
    return revision


def _listed_revision(revision: revisions.Revision) -> dict[str, object]:
    return {
        "id": revision.id,
        "origin": revision.origin,
        "word_count": revision.word_count,
        "created_at": revision.created_at,
    }
