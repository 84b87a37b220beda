"""The interface through which writing makes model calls; its implementation stores and pays for them."""

from __future__ import annotations

from typing import Protocol

from bookgen.providers.text import TextReply, TextRequest


class Steps(Protocol):
    """Answers model calls, each at most once.

    The same request (same bytes, same `attempt`) gets the stored reply if there is one. Otherwise the model is called,
    and its reply and usage are stored before they are returned. Raises UpstreamAIError, and CallsHalted if no call may
    be made now.
    """

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply: ...

    async def has(self, request: TextRequest) -> bool:
        """Whether a reply to the request is stored, so that asking costs nothing."""
        ...

    def for_concurrent_calls(self) -> Steps:
        """A second instance, for calls that run in parallel with the calls of the first."""
        ...
