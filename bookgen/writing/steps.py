"""The interface through which the writing modules call a model. Its implementation stores each reply and its cost."""

from __future__ import annotations

from typing import Protocol

from bookgen.providers.text import TextReply, TextRequest


class Steps(Protocol):
    """Answers model calls. A repeated request gets the stored reply, so the model is called at most once for it.

    A request is repeated if it has the same bytes and the same `attempt`. For a new request, the model is called, and
    its reply and usage are stored before they are returned. Raises UpstreamAIError, and CallsHalted if no call may be
    made now.
    """

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply: ...

    async def has(self, request: TextRequest) -> bool:
        """Whether a reply to the request is stored, so that asking costs nothing."""
        ...

    def for_concurrent_calls(self) -> Steps:
        """A second instance, for calls that run in parallel with the calls of the first."""
        ...
