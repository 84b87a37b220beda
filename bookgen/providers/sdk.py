"""The base class of the providers that use an SDK: its client, time limits, errors, and what it learns from calls."""

from __future__ import annotations

import asyncio
import json
import os
import re
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import structlog

from bookgen.models import Usage
from bookgen.providers.access import Access
from bookgen.providers.attempt import (
    THINKING_ROOM,
    CallFailed,
    Cure,
    EndlessRepetition,
    FailureKind,
    PartialReply,
    Provider,
)
from bookgen.providers.deadlines import Deadlines, Speed
from bookgen.providers.failures import (
    MAX_DETAIL_CHARACTERS,
    ProviderError,
    failure_of,
    filtered,
    no_answer,
    said,
    too_long,
)
from bookgen.providers.prices import prices
from bookgen.providers.rate_limits import RateLimits
from bookgen.providers.reading import StreamedReply, bytes_within, limit_size
from bookgen.providers.text import ShownSpeed, StopReason, TextReply, TextRequest
from bookgen.providers.window import AROUND, ContextWindow, DoesNotFit
from bookgen.words import tokens

log = structlog.get_logger(__name__)

BRIEF_HEADER = "TEST_BRIEF_HEADER"  # the variable with the name of a header that the model server of the tests reads
CLOUDS = (
    *("openai.com", "anthropic.com", "azure.com", "googleapis.com", "amazonaws.com", "openrouter.ai", "mistral.ai"),
    *("groq.com", "deepseek.com", "together.xyz", "fireworks.ai", "cerebras.ai", "x.ai"),
)
KEPT_SECONDS = 15.0  # that an idle connection stays open
MIN_SECRET_CHARACTERS = 8  # a shorter key, such as `local` or `none`, is a placeholder for one's own server
MIN_KEPT_CHARACTERS = 600  # of prose: a longer text is used although a deadline ended the call
CHARACTERS_PER_TOKEN = 4  # for servers that report no usage
MAX_WEIGHT = 1.5  # tokens of a cloud's model in one estimated token
MIN_EXTRA_TOKENS, MAX_EXTRA_TOKENS = 8_000, 32_000  # for a model that thinks
MAX_REFUSAL_CHARACTERS = 600  # requested prose is longer
_REFUSES = re.compile(
    r"(?:i['’]m sorry|i am sorry|sorry|i apologi[sz]e|unfortunately)?[,.]?\s*(?:but )?"
    r"(?:i (?:can['’]?t|can ?not|won['’]t|am unable to|am not able to)|i['’]m (?:unable|not able) to)\s+"
    r"(?:(?:help|assist)(?: you)? with (?:th(?:is|at)|your|creating|writing)\b|assist\W|comply\b|"
    r"(?:write|continue|create|provide|generate|produce|fulfil) (?:(?:th(?:is|at)|such|any|the|your) )?"
    r"(?:kind of |requested |explicit )?(?:th(?:is|at)\W|request|content|chapter|passage|scene|story|material))",
    re.IGNORECASE,
)
_ANSWERS_TO_PEOPLE = ("support",)  # stages in which "I can't help with that" may be the answer


class SdkProvider(Provider):
    """The base class of the providers that use an SDK. `name` is `provider:model`."""

    provider: ClassVar[str]
    needs_key: ClassVar[bool] = True

    def __init__(
        self, model: str, access: Access | None = None, *, deadlines: Deadlines | None = None, connections: int = 16
    ) -> None:
        self._model, self._access = model, access or Access()
        self._deadlines, self._connections = deadlines, connections
        self._bounds: list[float] = []  # time limits of the calls in flight, in seconds
        self._last_bound = (deadlines or Deadlines()).total
        self._speed = Speed(Deadlines(), self_hosted=self.is_self_hosted)
        self._window = ContextWindow(self_hosted=self.is_self_hosted)
        self._rate_limits = RateLimits()
        self._more_room = 0  # tokens beyond the request, for a model that thinks longer than expected
        self._opening: asyncio.Task[Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.provider}:{self._model}"

    def most(self, request: TextRequest) -> Usage:
        schema = tokens(json.dumps(request.schema)) if request.schema is not None else 0
        room = request.max_tokens + self._more_room + THINKING_ROOM
        return Usage(
            calls=1, input_tokens=sum(map(most_tokens, [*request.tokens_of_texts, schema])), output_tokens=room
        )

    async def attempt(self, request: TextRequest) -> TextReply:
        client, partial = _briefed(await self._client(), request), PartialReply(on_first_word=request.on_first_word)
        partial.in_company = bool(self._bounds)
        request = replace(request, max_tokens=request.max_tokens + self._more_room)
        stop = None
        try:
            with self._bounded(request) as partial.deadlines:
                async with asyncio.timeout(partial.deadlines.total):
                    stop = await self._ask(client, request, partial)
            self._learn_speed(request, partial)
            self._learn_rate_limits(request, partial)
            self._learn_window(request, partial, stop)
            return self._reply(request, partial, stop)
        except EndlessRepetition:
            partial.stopped = True
            return self._reply(request, partial, StopReason.LOOP)
        except DoesNotFit:
            raise
        except Exception as error:
            if too_long(error):
                refused = self._window.refused(said(error), partial.prompt, request.max_tokens)
                refused.usage = self._usage(request, partial) if any(partial.text) else Usage()
                log.warning(
                    "prompt_did_not_fit",
                    model=self.name,
                    window=refused.window,
                    detail=said(error)[:MAX_DETAIL_CHARACTERS],
                    to_do="Later prompts are shortened to fit. If the model server is yours, give the model a longer "
                    "context window.",
                )
                raise refused from error
            if filtered(error):
                return TextReply("", StopReason.REFUSAL, self._usage(request, partial), self.name)
            failed = failure_of(error)
            await self._explain(client, failed)
            partial.stopped = failed.bound
            if failed.bound and _is_worth_keeping(request, partial):
                return self._reply(request, partial, StopReason.LENGTH)
            if failed.bound and partial.first_word is None:
                self._speed.kept_silent()
            has_usage = partial.usage.calls or (failed.bound and any(partial.text))
            failed.usage = self._usage(request, partial) if has_usage else Usage()
            failed.cut = stop is None and partial.events > 0
            raise failed from error

    async def _explain(self, client: Any, failed: CallFailed) -> None:
        """Add what the operator needs to know to `failed`: the server's address, its models, and what to do."""
        failed.address = self._access.url
        if failed.cure is Cure.MODEL and self.is_self_hosted and (names := await self._names(client)):
            failed.detail = f"{failed.detail.rstrip('.')}; it has {', '.join(names)}"
        if len(self._access.key) >= MIN_SECRET_CHARACTERS:
            failed.detail = failed.detail.replace(self._access.key, "[hidden]")
        cure = Cure.CONNECT if failed.cure is Cure.START and not self._access.url else failed.cure
        failed.to_do = (cure or "").format(provider=self.provider.upper())

    async def _names(self, client: Any) -> list[str]:
        """Return the names of some of the server's models; empty if the server does not list them."""
        return []

    @contextmanager
    def _bounded(self, request: TextRequest) -> Iterator[Deadlines]:
        """A context manager for one call. It yields the call's time limits, and counts the call as one in flight.

        The limits are the configured ones or, if none are configured, follow from the server's measured speed.
        """
        room = request.max_tokens + THINKING_ROOM
        deadlines = self._deadlines or self._speed.deadlines(_tokens(_characters(request)), room, len(self._bounds))
        self._bounds.append(deadlines.total)
        tell = request.on_bound or (lambda bound: None)
        tell(deadlines.total)
        try:
            yield deadlines
        finally:
            tell(None)
            self._bounds.remove(deadlines.total)
            self._last_bound = deadlines.total

    def _learn_speed(self, request: TextRequest, partial: PartialReply) -> None:
        if partial.first_word is None:
            return
        now = asyncio.get_running_loop().time()
        waited, seconds = partial.first_word - partial.started, now - partial.first_word
        written = self._usage(request, partial).output_tokens
        prompt = 0 if partial.in_company else _tokens(_characters(request))
        self._speed.answered(prompt, waited, written, seconds)

    def _learn_rate_limits(self, request: TextRequest, partial: PartialReply) -> None:
        seconds = asyncio.get_running_loop().time() - partial.started
        self._rate_limits.answered(partial.headers, self._usage(request, partial), seconds)

    @property
    def calls_at_once(self) -> int | None:
        return self._rate_limits.calls

    @property
    def is_self_hosted(self) -> bool:
        """Whether the server's address is set and does not belong to a known cloud."""
        host = urlsplit(self._access.url).hostname or ""
        return bool(host) and not any(host == cloud or host.endswith(f".{cloud}") for cloud in CLOUDS)

    @property
    def shown_speed(self) -> ShownSpeed | None:
        return self._speed.shown

    @property
    def call_seconds(self) -> float:
        return max(self._bounds, default=self._last_bound)

    async def close(self) -> None:
        if self._opening is None:
            return
        try:
            client = await self._opening
        except Exception:
            return  # the client was never created
        await client.close()

    @property
    @abstractmethod
    def _sdk(self) -> Any:
        """The SDK's module. The first import takes a while, so it is done in a thread."""

    @abstractmethod
    def _open(self) -> Any:
        """Create the SDK's client.

        This runs in a thread, because it imports the SDK and reads the trusted certificates.
        """

    def _client_options(self) -> dict[str, Any]:
        """Return the options with which both SDKs create their clients. The SDKs' own retries are off."""
        self_hosted, connect = self.is_self_hosted, (self._deadlines or Deadlines()).connect
        kept_seconds = 0.0 if self_hosted else KEPT_SECONDS
        return {
            "api_key": self._access.key or "none",
            "max_retries": 0,
            # llama.cpp closes a connection after its reply although it says that it keeps it.
            "default_headers": {"Connection": "close"} if self_hosted else {},
            "http_client": self._sdk.DefaultAioHttpClient(
                timeout=httpx2.Timeout(connect=connect, read=None, write=30, pool=None),
                limits=httpx2.Limits(max_connections=self._connections, keepalive_expiry=kept_seconds),
                event_hooks={"response": [limit_size]},
            ),
        }

    async def _streamed(
        self, held: AsyncExitStack, response: AbstractAsyncContextManager[Any], partial: PartialReply
    ) -> StreamedReply:
        """Send a request, wait for the headers of its response, and return the response.

        `response`: the context manager that a method of the SDK's `with_streaming_response` returned. Entering it sends
        the request, and closing `held` closes it. Raises ProviderError for a status of 400 or more, and SilentServer if
        no headers come in time.
        """
        deadlines = partial.deadlines
        with self._reported_errors():
            async with bytes_within(deadlines.connect + deadlines.first_byte):
                streamed = StreamedReply(await held.enter_async_context(response), deadlines)
        partial.headers = streamed.headers
        return streamed

    @contextmanager
    def _reported_errors(self) -> Iterator[None]:
        """A context manager that turns the SDK's error for a status of 400 or more into a ProviderError."""
        try:
            yield
        except self._sdk.APIStatusError as error:
            raise ProviderError(
                str(error), error.body, status=error.status_code, headers=error.response.headers
            ) from error

    @abstractmethod
    async def _ask(self, client: Any, request: TextRequest, partial: PartialReply) -> StopReason | None:
        """Send the request and read the reply to its end. Return None if the reply does not say why it ended."""

    async def _client(self) -> Any:
        if self._opening is None:
            self._opening = asyncio.create_task(asyncio.to_thread(self._open))
        try:
            return await asyncio.shield(self._opening)
        except Exception as error:
            self._opening = None
            raise CallFailed(
                "could not be called: its client did not start", FailureKind.DENIED, detail=repr(error)
            ) from error

    def _reply(self, request: TextRequest, partial: PartialReply, stop: StopReason | None) -> TextReply:
        text = "".join(partial.text)
        if not partial.events:
            raise no_answer(f"its content type is {partial.headers.get('content-type', 'missing')}")
        if stop is None:
            raise CallFailed("stopped in the middle of its answer", FailureKind.AWAY, cure=Cure.WAIT)
        if stop is StopReason.END and _reads_as_refusal(request, text):
            stop = StopReason.REFUSAL
        if stop is StopReason.REFUSAL:
            return TextReply("", stop, self._usage(request, partial), self.name)
        if not text.strip() and stop in (StopReason.LENGTH, StopReason.LOOP):
            self._more_room = min(max(2 * self._more_room, MIN_EXTRA_TOKENS), MAX_EXTRA_TOKENS)
            raise CallFailed(
                "reached its token limit before it wrote any text", FailureKind.GARBLED, cure=Cure.ANOTHER_MODEL
            )
        if not text.strip():
            raise CallFailed("sent an empty answer", FailureKind.GARBLED, cure=Cure.ANOTHER_MODEL)
        return TextReply(text, stop, self._usage(request, partial), self.name, json_mode=partial.json_mode)

    def _fit(self, request: TextRequest, partial: PartialReply, added: str = "") -> None:
        """Record the length of the prompt in `partial`. Raises DoesNotFit if it leaves too little room for the reply.

        `added`: text that is sent in addition to the request. If the context window is unknown, nothing is raised.
        """
        partial.prompt, partial.asked = sum(request.tokens_of_texts) + tokens(added), request.max_tokens
        self._window.check(partial.prompt, self._least(request))

    def _least(self, request: TextRequest) -> int:
        asked = request.max_tokens - self._more_room
        return asked if request.least_tokens is None else min(asked, request.least_tokens)

    def _adapt_to_window(self, error: Exception, request: TextRequest, partial: PartialReply) -> bool:
        """If the error means that the request was too long, learn the size of the context window from it.

        Return whether the request would fit with a shorter reply. Return False for any other error.
        """
        if request.least_tokens is None or not too_long(error):
            return False
        refused = self._window.refused(said(error), partial.prompt, request.max_tokens)
        return partial.prompt + self._least(request) <= refused.window

    def _learn_window(self, request: TextRequest, partial: PartialReply, stop: StopReason | None) -> None:
        """Learn the size of the context window from a reply.

        Raises DoesNotFit if the server has read only a part of the prompt. Ollama, for example, drops the part that
        does not fit and reports no error.
        """
        if (cut := self._window.answered(partial.prompt, partial.usage, partial.asked, stop)) is not None:
            log.warning(
                "prompt_was_cut",
                model=self.name,
                tokens_read=partial.usage.input_tokens,
                tokens_sent=partial.prompt,
                to_do="Give the model a longer context window; with Ollama: OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
            )
            raise DoesNotFit(cut.window, self._usage(request, partial))

    def _usage(self, request: TextRequest, partial: PartialReply) -> Usage:
        usage, guessed = partial.usage, _guessed(request, partial)
        if not usage.calls:
            usage = guessed
        elif partial.stopped:  # the last reported count may have come with the first word
            usage = replace(usage, output_tokens=max(usage.output_tokens, guessed.output_tokens))
        return prices().priced(usage, self.name)


def _briefed(client: Any, request: TextRequest) -> Any:
    """Return the client. In tests, the client also sends the request's brief in a header."""
    header = os.environ.get(BRIEF_HEADER)
    return client.with_options(default_headers={header: json.dumps(request.described())}) if header else client


def _is_worth_keeping(request: TextRequest, partial: PartialReply) -> bool:
    """Whether the partial reply can be used: a long piece of prose can, half a JSON object cannot."""
    return request.schema is None and sum(map(len, partial.text)) >= MIN_KEPT_CHARACTERS


def _reads_as_refusal(request: TextRequest, text: str) -> bool:
    """Whether the text is a refusal in plain words, although the model reported a normal end."""
    if request.schema is not None or request.stage in _ANSWERS_TO_PEOPLE or len(text) > MAX_REFUSAL_CHARACTERS:
        return False
    return bool(_REFUSES.match(text.strip()))


def _guessed(request: TextRequest, partial: PartialReply) -> Usage:
    """Estimate the usage of a call from the length of its texts.

    A reply counts as at least one token per event, because local servers send one event per token.
    """
    written = max(_tokens(partial.written or sum(map(len, partial.text))), partial.events)
    return Usage(calls=1, input_tokens=_tokens(_characters(request)), output_tokens=written)


def _characters(request: TextRequest) -> int:
    return sum(map(len, request.texts))


def most_tokens(estimated: int) -> int:
    """Return the maximum number of tokens that a model may count for a text.

    They include the tokens that the model's chat template adds. `estimated`: the estimated tokens of the text.
    """
    return round(estimated * MAX_WEIGHT) + AROUND


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)
