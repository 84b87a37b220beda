"""Error messages for agents when the API refuses a call: what is wrong, and what to do next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError

from bookgen.client.errors import ApiError
from bookgen.commands.wording import in_words

P = ParamSpec("P")

REMEDIES = {
    "NOT_FOUND": (
        "Call the tool `list_books` to find the book's id. A book has no status before the tool `write` is called."
    ),
    "CONFLICT": "Call the tool `status` to see the book's state.",
    "GENERATION_IN_PROGRESS": (
        "Pause the run with the tool `steer`, or wait with the tool `status` until the run has ended."
    ),
    "RATE_LIMIT_EXCEEDED": "Wait a minute.",
    "UPSTREAM_AI_ERROR": "Try again.",
    "CONNECTION_LOST": "Call the tool again: finished work is not repeated.",
    "SERVICE_UNAVAILABLE": "Call the tool again in a minute.",
} | dict.fromkeys(("AUTHENTICATION_REQUIRED", "TOKEN_EXPIRED", "TOKEN_INVALID"), "Start `bookgen mcp` again.")


# The parameters of the tools, by the API fields that they set.
NAMES = {
    "description": "idea",
    "chapter_count": "chapters",
    "target_word_count": "words",
    "content_language": "language",
    "style_notes": "style",
    "page_count": "pages",
    "chapters": "changes",
}


def explained(tool: Callable[P, Awaitable[Any]]) -> Callable[P, Awaitable[Any]]:
    """Wrap `tool` so that its error messages say what to do next."""

    @wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            return await tool(*args, **kwargs)
        except ApiError as error:
            raise ToolError(explanation(error)) from error

    return call


def explanation(error: ApiError) -> str:
    return " ".join([in_words(error, NAMES), REMEDIES.get(error.code, "")]).strip()
