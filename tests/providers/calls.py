"""Requests and models as the tests of the providers make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bookgen.models import Usage
from bookgen.providers.access import Access
from bookgen.providers.anthropic import AnthropicProvider
from bookgen.providers.attempt import Provider
from bookgen.providers.breaker import CircuitBreaker
from bookgen.providers.deadlines import Deadlines
from bookgen.providers.openai import OpenAIProvider
from bookgen.providers.pacing import Pacing
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import Block, Message, Spent, TextRequest
from bookgen.providers.waits import RetryRules
from tests.fakes.model_server import ModelServer

# For faults that only a deadline ends. Everything else has the default deadlines, however slow the machine is.
QUICK = Deadlines(connect=0.5, first_byte=0.8, idle=0.8, total=3)
MakeProvider = Callable[..., Provider]


def anthropic(server: ModelServer, deadlines: Deadlines | None = None) -> Provider:
    return AnthropicProvider("claude-sonnet-5-5", Access("k", server.anthropic_url), deadlines=deadlines)


def responses(server: ModelServer, deadlines: Deadlines | None = None) -> Provider:
    access = Access("k", server.openai_url)
    return OpenAIProvider("gpt-6.1-terra", access, deadlines=deadlines, protocol="responses")


def chat(server: ModelServer, deadlines: Deadlines | None = None) -> Provider:
    return OpenAIProvider("local", Access(url=f"{server.url}/some/gateway/v1"), deadlines=deadlines)


PROVIDERS: dict[str, MakeProvider] = {"anthropic": anthropic, "responses": responses, "chat": chat}


def used(spent: Iterable[Spent]) -> Usage:
    return sum((each.usage for each in spent), Usage())


def steady(provider: Provider, *, tries: int = 3, waits: bool = True, **rules: float) -> RetryingModel:
    return RetryingModel(
        provider,
        pacing=Pacing(concurrency=8),
        breaker=CircuitBreaker(open_seconds=0.05),
        rules=RetryRules(tries=tries, **{"first_delay": 0.01, "busy_delay": 0.05, **rules}),
        waits=waits,
    )


def chapter_request(words: int = 120, *, schema: dict[str, Any] | None = None, **fields: Any) -> TextRequest:
    brief = {
        "language": "en",
        "title": "The Harbour of Lamps",
        "genre": "Mystery",
        "chapter_count": 10,
        "chapter_title": "The Bell",
        "chapter_summary": "Ida hears the bell.",
        "part": 1,
        "parts": 1,
        "words": words,
        **fields,
    }
    return TextRequest(
        "chapter",
        (Block("You write books."),),
        (Message("user", "Write."),),
        2000,
        schema=schema,
        chapter_number=3,
        brief=brief,
    )
