"""Chapters: read, save, rewrite by the model, and list and restore former texts."""

from __future__ import annotations

from uuid import uuid4

from aiohttp import web

from bookgen import errors
from bookgen.actors.messages import RewriteChapter, RewritePassage
from bookgen.billing.edits import UNPAID_WORDS, WORDS_OF_AN_EDIT
from bookgen.http import chapters_schemas as shapes
from bookgen.http.answers.chapter_pieces import in_pieces
from bookgen.http.edge import replies
from bookgen.http.edge.conditional import is_expected
from bookgen.http.edge.contract import (
    asks_model,
    conditional,
    docs,
    either_response,
    grows,
    guarded,
    guarded_by,
    json_schema,
    querystring_schema,
    refuses,
    repeatable,
    response_schema,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, QUERY, SERVICES
from bookgen.http.edge.large_answers import LARGE
from bookgen.http.edge.routing import path_id
from bookgen.http.edge.schemas import as_json
from bookgen.http.illustrations_schemas import by_chapter
from bookgen.http.proofreading_schemas import SuggestionSchema, shown_suggestion
from bookgen.models import Chapter
from bookgen.services import editing
from bookgen.store import chapters, illustrations, revisions, suggestions
from bookgen.store.chapters import SavedChapter
from bookgen.store.database import DB
from bookgen.words import count_words


@docs(
    "chapters",
    "List every chapter of your books, newest book first",
    "Includes the texts, which may be many megabytes. A response of more than 512 MiB is refused. Use `book` to list "
    "the chapters of one book.",
)
@querystring_schema(shapes.ChapterQuerySchema)
@response_schema(shapes.ChapterSchema(many=True))
@refuses(errors.PayloadTooLarge)
@conditional
async def list_chapters(request: web.Request) -> web.Response:
    pictures = by_chapter(
        await illustrations.of_account(request.app[SERVICES].database.http, request[ACCOUNT_ID]),
        request.app[SERVICES].site.public_url,
    )
    db, book_id = request.app[SERVICES].database.http, request[QUERY]["book"]
    sketches = await chapters.sketch_of_account(db, request[ACCOUNT_ID], book_id)
    if sum(each.bytes for each in sketches) > LARGE:
        return in_pieces(request, sketches, pictures, before=b"[", after=b"]")
    found = await chapters.some(
        request.app[SERVICES].database.http, request[ACCOUNT_ID], [each.chapter.id for each in sketches]
    )
    return replies.json([shapes.shown_chapter(chapter, pictures.get(chapter.id, ())) for chapter in found])


@docs("chapters", "Read a chapter", "`content` is Markdown, empty until the chapter is written.")
@response_schema(shapes.ChapterSchema)
@conditional
async def read_chapter(request: web.Request) -> web.Response:
    db = request.app[SERVICES].database.http
    chapter = errors.must_exist(await chapters.find(db, request[ACCOUNT_ID], path_id(request)))
    return await _shown(request, db, chapter)


@docs(
    "chapters",
    "Save a chapter",
    "The previous text is saved as a revision. Send `If-Match` to avoid overwriting someone else's change: you "
    "get 409 if the chapter has changed since you read it.",
)
@json_schema(shapes.ChapterChangesSchema)
@response_schema(shapes.ChapterSchema)
@refuses(errors.PlanUpgradeRequired, errors.Conflict)
@grows
@guarded
async def change_chapter(request: web.Request) -> web.Response:
    chapter_id, changes, account_id = path_id(request), request[BODY], request[ACCOUNT_ID]
    read = await _read_before(request, chapter_id)
    async with request.app[SERVICES].database.http.acquire() as connection:
        saved = await editing.save_chapter(
            connection, request.app[SERVICES].quota, account_id, chapter_id, changes, read=read
        )
        return await _saved(request, connection, saved)


async def _read_before(request: web.Request, chapter_id: int) -> Chapter | None:
    """The chapter, if its ETag matches If-Match. Raises Conflict if it does not.

    Without If-Match, this reads nothing and returns None.
    """
    if "If-Match" not in request.headers:
        return None
    db = request.app[SERVICES].database.http
    chapter = errors.must_exist(await chapters.find(db, request[ACCOUNT_ID], chapter_id))
    if not is_expected(request, await _encoded(request, db, chapter)):
        raise errors.Conflict(editing.CHANGED)
    return chapter


@docs(
    "chapters",
    "Rewrite a chapter",
    "Synchronous. With `instructions`, the model gets the previous text and changes only what you ask for. The "
    "previous text is saved as a revision. With a `passage`, only that passage is rewritten: the chapter stays as it "
    "is, and the answer is a suggestion in a report of the kind `passage`, which you preview and apply like any other "
    f"suggestion. A successful rewrite of a chapter with a target of up to {WORDS_OF_AN_EDIT:,} words, or of a passage "
    "of up to that length, counts as one AI edit; a longer chapter or passage counts as one edit for each "
    f"{WORDS_OF_AN_EDIT:,} words or part of them. Rewrites in books that have not been generated yet, for which no "
    "book of your plan and no credit is used or reserved, have another limit: in each billing period they may produce, "
    "all together, half as many words as your plan allows for one book. Beyond that, the call returns 429 with the "
    f"`quota_type` `{UNPAID_WORDS}`.",
)
@json_schema(shapes.RewriteSchema)
@either_response("The chapter, or the suggestion for its passage.", shapes.ChapterSchema, SuggestionSchema)
@refuses(errors.GenerationInProgress, errors.Conflict, errors.QuotaExceeded, errors.UpstreamAIError)
@grows
@guarded_by(read_chapter)
@repeatable
@asks_model
async def regenerate_chapter(request: web.Request) -> web.Response:
    db, account_id, chapter_id = request.app[SERVICES].database.http, request[ACCOUNT_ID], path_id(request)
    chapter = errors.must_exist(await chapters.find(db, account_id, chapter_id))
    if passage := request[BODY]["passage"]:
        return await _rewrite_passage(request, chapter, passage["start"], passage["end"])
    job = RewriteChapter(chapter.id, chapter.chapter_number, request[BODY]["instructions"])
    await request.app[SERVICES].supervisor.run_job(account_id, chapter.book_id, job)
    return await read_chapter(request)


async def _rewrite_passage(request: web.Request, chapter: Chapter, start: int, end: int) -> web.Response:
    """Have the model rewrite `content[start:end]`. The response is a suggestion with the new text."""
    services, account_id = request.app[SERVICES], request[ACCOUNT_ID]
    text = chapter.content[start:end]
    if end > len(chapter.content):
        raise errors.InvalidInput(
            passage=[f"`end` is beyond the chapter, which has {len(chapter.content):,} characters."]
        )
    if not text.strip():
        raise errors.InvalidInput(passage=["The passage has no words. Choose a longer passage."])
    words, report = max(count_words(text), 1), uuid4()
    job = RewritePassage(chapter.id, start, end, words, request[BODY]["instructions"], chapter.content_version, report)
    await services.supervisor.run_job(account_id, chapter.book_id, job)
    found = errors.must_exist(
        await suggestions.of_task(services.database.http, account_id, chapter.id, report), "suggestion"
    )
    return replies.json(shown_suggestion(found))


@docs(
    "revisions",
    "List a chapter's earlier versions, newest first",
    "The list omits the texts. Only the newest 20 versions are kept.",
)
@response_schema(shapes.RevisionListedSchema(many=True))
@conditional
async def list_revisions(request: web.Request) -> web.Response:
    db, chapter_id = request.app[SERVICES].database.http, path_id(request)
    errors.must_exist(await chapters.find(db, request[ACCOUNT_ID], chapter_id))
    found = await revisions.of_chapter(db, request[ACCOUNT_ID], chapter_id)
    return replies.json([as_json(shapes.RevisionListedSchema, revision) for revision in found])


@docs(
    "revisions",
    "Read an earlier version",
    "`origin` says what replaced this version. `quality_gate`: this is the model's own text, before the quality gate "
    "(the automatic checks) changed it. `not_preferred`: this is a revised text that was never in the book, because a "
    "comparison preferred the draft.",
)
@response_schema(shapes.RevisionSchema)
@conditional
async def read_revision(request: web.Request) -> web.Response:
    revision = errors.must_exist(
        await revisions.find(
            request.app[SERVICES].database.http, request[ACCOUNT_ID], path_id(request), path_id(request, "revision_id")
        ),
        "revision of this chapter",
    )
    return replies.json(as_json(shapes.RevisionSchema, revision))


@docs(
    "revisions",
    "Restore an earlier version",
    "The current text is saved as a revision. Returns the chapter.",
)
@response_schema(shapes.ChapterSchema)
@refuses(errors.PlanUpgradeRequired, errors.Conflict)
@grows
@guarded_by(read_chapter)
async def restore_revision(request: web.Request) -> web.Response:
    async with request.app[SERVICES].database.http.acquire() as connection:
        saved = await editing.restore_revision(
            connection,
            request.app[SERVICES].quota,
            request[ACCOUNT_ID],
            path_id(request),
            path_id(request, "revision_id"),
        )
        return await _saved(request, connection, saved)


async def _saved(request: web.Request, db: DB, saved: SavedChapter) -> web.Response:
    if saved.illustrated:
        return await _shown(request, db, saved.chapter)
    return replies.json(shapes.shown_chapter(saved.chapter, ()))


async def _shown(request: web.Request, db: DB, chapter: Chapter) -> web.Response:
    return replies.encoded(await _encoded(request, db, chapter))


async def _encoded(request: web.Request, db: DB, chapter: Chapter) -> bytes:
    pictures = by_chapter(await illustrations.of_chapter(db, chapter.id), request.app[SERVICES].site.public_url)
    return replies.dump(shapes.shown_chapter(chapter, pictures.get(chapter.id, ())))
