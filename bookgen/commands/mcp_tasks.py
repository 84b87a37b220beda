"""Shows runs as MCP tasks, by the protocol's extension SEP-2663. A run is the writing of a book.

The handle of a task is the id of its run, and its state follows from the run's status. This process stores nothing, so
the next process can continue. Clients that do not support tasks use the tools `write` and `status` instead.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams, CallToolResult, RequestParams, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from bookgen.client.calls import ACTIVE
from bookgen.client.client import Client
from bookgen.client.errors import ApiError, Conflict
from bookgen.commands.mcp_refusals import explanation

JSON = dict[str, Any]
Context = ServerRequestContext[Any, Any]

POLL_MILLISECONDS = 5000
# The task's state by the run's. A failed run is `completed` with a tool error as its result, because the protocol
# reserves `failed` for protocol errors. A paused run is `working`, because it can be resumed.
STATES = {
    "running": "working",
    "paused": "working",
    "completed": "completed",
    "error": "completed",
    "stopped": "cancelled",
}


class TaskParams(RequestParams):
    """The parameter that identifies a task."""

    task_id: str


class Tasks(Extension):
    """Shows runs as tasks to clients with task support. The clients can read and cancel the tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, client: Client, starting: Collection[str]) -> None:
        """`starting`: the names of the tools that start a run and return its status."""
        self._client = client
        self._starting = starting
        self._books: dict[str, JSON] = {}  # id and title of each book that was requested, by the id of its run

    def methods(self) -> Sequence[MethodBinding]:
        served = {"tasks/get": self._get, "tasks/update": self._update, "tasks/cancel": self._cancel}
        versions = frozenset(MODERN_PROTOCOL_VERSIONS)
        return [MethodBinding(name, TaskParams, handler, versions) for name, handler in served.items()]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        result = await call_next(ctx)
        if params.name not in self._starting or not self._is_known_to(ctx):
            return result
        if not isinstance(result, CallToolResult) or result.is_error:
            return result  # a question to the user, or an error
        told = json.loads(_text(result))
        if told["generation_status"] not in ACTIVE:
            return result
        return {**_task(await self._status(told["task_id"])), "resultType": "task"}

    def _is_known_to(self, ctx: Context) -> bool:
        capabilities = ctx.session.client_capabilities
        declared = (capabilities and capabilities.extensions) or {}
        return self.identifier in declared and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _get(self, ctx: Context, params: TaskParams) -> JSON:
        require_client_extension(ctx, self.identifier)
        status = await self._status(params.task_id)
        return {**_task(status), **_outcome(status, self._books[params.task_id]["title"])}

    async def _update(self, ctx: Context, params: TaskParams) -> JSON:
        """Acknowledge a client's update of a task. Runs need no updates: the user is asked before a run starts."""
        require_client_extension(ctx, self.identifier)
        await self._status(params.task_id)
        return {}

    async def _cancel(self, ctx: Context, params: TaskParams) -> JSON:
        require_client_extension(ctx, self.identifier)
        status = await self._status(params.task_id)
        try:
            if status["generation_status"] in ACTIVE:
                await self._client.stop(self._books[params.task_id]["id"])
        except Conflict:
            pass  # the run has just ended
        except ApiError as error:
            raise MCPError(INTERNAL_ERROR, explanation(error)) from error
        return {}

    async def _status(self, task_id: str) -> JSON:
        """The status of the run with the id `task_id`.

        Raises MCPError if this is not the latest run of one of the account's books.
        """
        try:
            book = self._books.get(task_id) or await self._book_of(task_id)
            status = await self._client.status_or_none(book["id"]) if book else None
        except ApiError as error:
            raise MCPError(INTERNAL_ERROR, explanation(error)) from error
        if status is None or status["task_id"] != task_id:
            self._books.pop(task_id, None)
            raise MCPError(INVALID_PARAMS, "There is no such task. Its book was deleted, or has a newer task.")
        return status

    async def _book_of(self, task_id: str) -> JSON | None:
        for book in await self._client.list_books():
            if (book["generation_progress"] or {}).get("task_id") == task_id:
                self._books[task_id] = {"id": book["id"], "title": book["title"]}
        return self._books.get(task_id)


def _task(status: JSON) -> JSON:
    return {
        "taskId": status["task_id"],
        "status": STATES[status["generation_status"]],
        "statusMessage": status["status_message"],
        "createdAt": status["started_at"],
        "lastUpdatedAt": status["updated_at"],
        "ttlMs": None,
        "pollIntervalMs": POLL_MILLISECONDS,
    }


def _outcome(status: JSON, title: str) -> JSON:
    """The tool result that belongs in the task of a completed or failed run; empty for any other run."""
    if STATES[status["generation_status"]] != "completed":
        return {}
    failure = status["failure"]
    if failure is None:
        told = json.dumps({"title": title, **brief(status)}, ensure_ascii=False)
    else:
        told = failure["message"] + " Call the tool `write` again to continue." * failure["retryable"]
    result = CallToolResult(content=[TextContent(type="text", text=told)], is_error=failure is not None)
    return {"result": result.model_dump(by_alias=True, mode="json", exclude_none=True)}


def brief(status: JSON) -> JSON:
    """The run's status without the fields that an agent does not need."""
    return {name: value for name, value in status.items() if name not in ("outline", "mode", "started_at")}


def _text(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))
