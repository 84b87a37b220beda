"""A request to OpenAI's SDK whose body is on the wire what it is here.

The SDK's own methods look for what its types name otherwise, through every message of the prompt; these bodies have
the names of the wire.
"""

from __future__ import annotations

from typing import Any


async def post(client: Any, path: str, body: dict[str, Any]) -> Any:
    """The reply as a stream of the SDK, once its head is here. The SDK's errors."""
    import openai

    return await client.post(
        path,
        body=body,
        options={"security": {"bearer_auth": True}},
        cast_to=object,
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )
