"""Model calls, counted and priced like a provider's, without a network."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookgen.models import Usage
from bookgen.providers.anthropic import MAX_BREAKPOINTS
from bookgen.providers.prices import Price
from bookgen.providers.text import Block, Message, StopReason, TextReply, TextRequest
from tests.fakes.model_cache import PrefixCache, tokens
from tests.writing.scripted import obedient, request_key


@dataclass
class PricedCalls:
    """Steps with the scripted author and a provider's cache and prices. Sums are in micro-units.

    Anthropic caches the marked prefixes, OpenAI the longest prefix shared with an earlier prompt. For both, tokens new
    to the cache cost the price of writing to it.
    """

    provider: str
    price: Price
    usage: Usage = field(default_factory=Usage)
    output: int = 0
    uncached: int = 0
    written: int = 0
    read: int = 0
    largest: int = 0
    _stored: set[str] = field(default_factory=set)
    _cache: PrefixCache = field(default_factory=PrefixCache)

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        text = obedient(request, request.described(), self.usage.calls + 1)
        usage = self._usage(request, text)
        self._charge(usage)
        self._stored.add(str(request_key(request)))
        return TextReply(text, StopReason.END, usage, self.provider)

    async def has(self, request: TextRequest) -> bool:
        return str(request_key(request)) in self._stored

    def for_concurrent_calls(self) -> PricedCalls:
        return self

    def _usage(self, request: TextRequest, text: str) -> Usage:
        parts: list[Block | Message] = [*request.system, *request.messages]
        asked = sum(tokens(part.text) for part in parts)
        if self.provider == "anthropic":
            marked = {id(part) for part in [part for part in parts if part.cache][-MAX_BREAKPOINTS:]}
            written, read = self._cache.anthropic("model", [(part.text, id(part) in marked) for part in parts])
        else:
            read = self._cache.openai("model", "\n\n".join(part.text for part in parts))
            written = asked - read
        return Usage(1, asked - written - read, tokens(text), written, read)

    def _charge(self, usage: Usage) -> None:
        self.usage += usage
        asked = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        self.largest = max(self.largest, asked)
        price = self.price.above if self.price.above and asked > self.price.over else self.price
        self.output += usage.output_tokens * price.output
        self.uncached += usage.input_tokens * price.input
        self.written += usage.cache_write_tokens * price.cache_write
        self.read += usage.cache_read_tokens * price.cache_read

    @property
    def total(self) -> int:
        return self.output + self.uncached + self.written + self.read

    @property
    def ratio(self) -> float:
        """The total cost of the calls divided by the cost of their output."""
        return self.total / self.output

    @property
    def cached_share(self) -> float:
        """The share of prompt tokens read from the cache."""
        used = self.usage
        return used.cache_read_tokens / (used.input_tokens + used.cache_write_tokens + used.cache_read_tokens)
