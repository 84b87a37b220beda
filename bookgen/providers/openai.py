"""OpenAI through its SDK: the Responses API at OpenAI, Chat Completions at compatible servers."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AsyncExitStack
from typing import Any, Literal
from urllib.parse import urlsplit

from bookgen.providers.access import Access
from bookgen.providers.attempt import CallFailed, FailureKind, PartialReply
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.failures import said, status_of
from bookgen.providers.openai_chat import ChatProtocol
from bookgen.providers.openai_responses import ResponsesProtocol
from bookgen.providers.prices import prices
from bookgen.providers.sdk import SdkProvider
from bookgen.providers.text import THE_ONLY_ONE, StopReason, TextRequest

BASE_URL = "https://api.openai.com/v1"
MAX_LESSONS = 8  # requests of one call, each with what was learned from the last error
MAX_NAMES = 12  # of models in an error
NAMING_SECONDS = 5.0
Protocol = Literal["responses", "chat"]


class OpenAIProvider(SdkProvider):
    """A model of OpenAI, or of another server with its API.

    `protocol`: the API to use. None means Responses at OpenAI itself. At other servers it means Chat Completions, or
    Responses if the server turns out not to have Chat Completions.
    """

    provider = "openai"
    needs_key = False

    def __init__(
        self,
        model: str,
        access: Access | None = None,
        *,
        deadlines: Deadlines | None = None,
        connections: int = 16,
        protocol: Protocol | None = None,
    ) -> None:
        super().__init__(model, access, deadlines=deadlines, connections=connections)
        self._base_url = _with_version(self._access.url or BASE_URL)
        self._chosen = model != THE_ONLY_ONE
        official = urlsplit(self._base_url).hostname == urlsplit(BASE_URL).hostname
        max_output = prices().max_output(self.name)
        self._protocols: dict[Protocol, ResponsesProtocol | ChatProtocol] = {
            "responses": ResponsesProtocol(model, official=official, max_output=max_output),
            "chat": ChatProtocol(model, self._window, max_output),
        }
        self._spoken: Protocol = protocol or ("responses" if official else "chat")
        self._sure = protocol is not None or official

    @property
    def _sdk(self) -> Any:
        import openai

        return openai

    def _open(self) -> Any:
        return self._sdk.AsyncOpenAI(base_url=self._base_url, **self._client_options())

    async def _ask(self, client: Any, request: TextRequest, partial: PartialReply) -> StopReason | None:
        if not self._chosen:
            await self._choose_model(client)
        async with AsyncExitStack() as held:
            for _ in range(MAX_LESSONS):
                protocol = self._protocols[self._spoken]
                self._fit(request, partial, protocol.added(request))
                body = protocol.body(request, partial.prompt)
                try:
                    streamed = await self._streamed(held, protocol.response(client, body), partial)
                except Exception as error:
                    if not (
                        protocol.adapt_to_error(error, body)
                        or self._adapt_protocol(error)
                        or self._adapt_to_window(error, request, partial)
                    ):
                        protocol.json.abandon()
                        raise
                    continue
                self._sure = True
                if request.schema is not None:
                    protocol.json.confirm()
                    partial.json_mode = protocol.json.mode
                return await protocol.listen(streamed, partial)
        raise RuntimeError("the server rejects one field after the other")

    async def find_name(self) -> None:
        if not self._chosen:
            with contextlib.suppress(Exception):  # the first call reports what is wrong
                async with asyncio.timeout(NAMING_SECONDS):
                    await self._choose_model(await self._client())

    async def _choose_model(self, client: Any) -> None:
        """Use the server's only model. Raises CallFailed if it has none or several: the operator must name one."""
        names = await self._model_names(client)
        if len(names) != 1:
            several = f"has several models ({', '.join(names[:MAX_NAMES])}); choose one"
            there = several if names else "lists no models; name one"
            raise CallFailed(f"{there} with BOOKGEN_MODEL=openai:NAME", FailureKind.DENIED)
        self._chosen, self._model = True, names[0]
        for protocol in self._protocols.values():
            protocol.model = names[0]

    async def _names(self, client: Any) -> list[str]:
        with contextlib.suppress(Exception):  # the names only explain another failure
            async with asyncio.timeout(NAMING_SECONDS):
                return (await self._model_names(client))[:MAX_NAMES]
        return []

    async def _model_names(self, client: Any) -> list[str]:
        with self._reported_errors():
            return sorted(model.id for model in (await client.models.list()).data)

    def _adapt_protocol(self, error: Exception) -> bool:
        """Switch to the Responses API if the error means that the server has no Chat Completions.

        Return whether the API was switched.
        """
        no_route = status_of(error) in (404, 405) and "model" not in said(error)
        if self._sure or not no_route or self._spoken == "responses":
            return False
        self._spoken, self._sure = "responses", True
        return True


def _with_version(base_url: str) -> str:
    """Return the URL with the version that the SDK needs: `http://localhost:11434` becomes `…:11434/v1`."""
    base_url = base_url.rstrip("/")
    return base_url if urlsplit(base_url).path else f"{base_url}/v1"
