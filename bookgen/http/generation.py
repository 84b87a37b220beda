"""Runs: start, follow, pause, resume and stop a run. A run is the writing of a book."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import orjson
from aiohttp import web

from bookgen import errors
from bookgen.actors import status
from bookgen.actors.messages import Command, Generate, Pause, Resume, Stop
from bookgen.http import generation_schemas as shapes
from bookgen.http.edge import replies
from bookgen.http.edge.admission import authenticate_again
from bookgen.http.edge.conditional import IfNoneMatch
from bookgen.http.edge.connection import BoundedConnection
from bookgen.http.edge.contract import (
    asks_model,
    conditional,
    docs,
    grows,
    json_schema,
    refuses,
    repeatable,
    response_schema,
    waits,
)
from bookgen.http.edge.keys import ACCOUNT_ID, BODY, SERVICES, WAITING
from bookgen.http.edge.routing import path_id
from bookgen.store.progress import RunProgress


@docs(
    "generation",
    "Start writing the book",
    "Returns immediately; the work continues in the background. Before you repeat a call without an `Idempotency-Key`, "
    "read the status of the run: `running` means that the first call worked.",
)
@response_schema(shapes.GenerationStartSchema, 202)
@refuses(
    errors.NoOutline,
    errors.GenerationInProgress,
    errors.BookQuotaExceeded,
    errors.QuotaExceeded,
    errors.PlanUpgradeRequired,
    errors.Conflict,
)
@grows
@repeatable
@asks_model
async def generate(request: web.Request) -> web.Response:
    return await _started(request, Generate(), "Generation started.")


@docs(
    "generation",
    "Produce the whole book in one call",
    "From the idea to the files, in the background. The run creates the outline, if there is none; writes every "
    "chapter; has the model read the book as its editor and answer the findings as its author; proofreads the book and "
    "applies corrections of spelling and punctuation, if your plan has a check left in this period; creates a cover, "
    'unless one is selected or you send `"cover": false`; and creates the files in every format of your plan, '
    "which the export calls then return at once. Chapters that have content are kept. A finished book is written again "
    "only if you send `again`. The status shows the current phase. Pause, resume and stop a production like any run. "
    "It needs the add-on `automated-production`: a single use is reserved at the start and counted when the production "
    "is completed.",
)
@json_schema(shapes.ProductionSchema)
@response_schema(shapes.GenerationStartSchema, 202)
@refuses(
    errors.GenerationInProgress,
    errors.BookQuotaExceeded,
    errors.QuotaExceeded,
    errors.PlanUpgradeRequired,
    errors.Conflict,
)
@grows
@repeatable
@asks_model
async def produce(request: web.Request) -> web.Response:
    return await _started(request, Generate(automated=True, **request[BODY]), "Production started.")


async def _started(request: web.Request, command: Generate, message: str) -> web.Response:
    run = await request.app[SERVICES].supervisor.ask(request[ACCOUNT_ID], path_id(request), command)
    body = {"message": message, "book_id": run.book_id, "task_id": run.id, "mode": run.mode}
    return replies.json(body, status=202)


@docs(
    "generation",
    "Read the progress of the writing",
    "Poll every 15 to 30 seconds, or wait for the next change with `Prefer: wait=N`. 404 if the book never had a run.",
)
@response_schema(shapes.GenerationStatusSchema)
@conditional
@waits
async def generation_status(request: web.Request) -> web.Response:
    supervisor, account_id, book_id = request.app[SERVICES].supervisor, request[ACCOUNT_ID], path_id(request)
    statuses = supervisor.statuses
    with request.app[WAITING].admitted(request, account_id) as seconds:
        condition = IfNoneMatch(request)
        body: bytes | None = await statuses.read(account_id, book_id)
        if body and (not seconds or supervisor.resources.draining or not condition.matches_body(body)):
            return replies.encoded(body)
        del body  # to free memory, since thousands of requests may wait at once
        connection = cast(BoundedConnection, request.protocol)
        connection.call_off(asyncio.current_task())  # ends the wait of a caller that disconnects
        try:
            body = await statuses.read_other(account_id, book_id, condition.matches_body, seconds)
        finally:
            connection.call_off(None)
    await authenticate_again(request)
    applied = {"Preference-Applied": f"wait={seconds}"}
    return condition.answer(applied) if body is None else replies.encoded(body, headers=applied)


@docs(
    "generation",
    "Pause the run",
    "The run pauses immediately: no new model call starts. A call in progress may finish, and its text is kept.",
)
@response_schema(shapes.GenerationSteeredSchema)
@refuses(errors.Conflict)
async def pause_generation(request: web.Request) -> web.Response:
    return await _steer(request, Pause(), "Generation paused.")


@docs("generation", "Resume a paused run, or retry a failed one", "The run joins the end of the account's queue.")
@response_schema(shapes.GenerationSteeredSchema)
@refuses(errors.Conflict, errors.BookQuotaExceeded, errors.QuotaExceeded, errors.PlanUpgradeRequired)
async def resume_generation(request: web.Request) -> web.Response:
    return await _steer(request, Resume(), "Generation resumed.")


@docs("generation", "Stop the run", "Cancels the model call in progress. Finished chapters are kept.")
@response_schema(shapes.GenerationSteeredSchema)
@refuses(errors.Conflict)
async def stop_generation(request: web.Request) -> web.Response:
    return await _steer(request, Stop(), "Generation stopped.")


async def _steer(request: web.Request, command: Command, message: str) -> web.Response:
    run = await request.app[SERVICES].supervisor.ask(request[ACCOUNT_ID], path_id(request), command)
    return replies.json(
        {"message": message, "book_id": run.book_id, "task_id": run.id, "generation_status": status.shown(run)}
    )


async def progress_of(request: web.Request, book_id: int) -> dict[str, Any] | None:
    """The current status of the book's run, without the outline; None if the book never had a run."""
    try:
        encoded = await request.app[SERVICES].supervisor.statuses.read_anew(request[ACCOUNT_ID], book_id)
    except errors.NotFound:
        return None
    return _without_outline(orjson.loads(encoded))


def progress_in_list(request: web.Request, progress: RunProgress | None) -> dict[str, Any] | None:
    """The status of a book's run, for a list of books; None if the book never had a run."""
    model = request.app[SERVICES].supervisor.resources.model
    return _without_outline(status.as_json(progress, model=model)) if progress else None


def _without_outline(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "outline"}
