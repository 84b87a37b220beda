"""The seam between writing and whoever pays for it."""

from __future__ import annotations

from typing import Protocol

from bookgen.providers.text import TextReply, TextRequest


class Steps(Protocol):
    """Answers model calls, each at most once.

    The same request (same bytes, same `attempt`) gets the stored reply when there is one; otherwise the model
    is called and its reply and usage are stored before they are returned. Raises UpstreamAIError; CallsHalted
    when the model was not to be called.
    """

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply: ...

    async def has(self, request: TextRequest) -> bool:
        """Whether the request was answered before, so that its reply costs nothing."""
        ...
