"""The number of concurrent calls follows the limits that a provider reports."""

from __future__ import annotations

import asyncio

import pytest

from bookgen.models import Usage
from bookgen.providers.attempt import Provider
from bookgen.providers.pacing import Pacing
from bookgen.providers.rate_limits import MAX_CALLS, RateLimits
from bookgen.providers.retrying import RetryingModel
from bookgen.providers.text import StopReason, TextReply, TextRequest
from tests.providers.calls import PROVIDERS, chapter_request

USED = Usage(calls=1, input_tokens=3_000, output_tokens=1_000, cache_read_tokens=6_000)
MINUTE_AND_A_QUARTER = (
    75.0  # seconds per call: at four fifths of a limit there are as many concurrent calls as the limit has per minute
)


@pytest.mark.parametrize(
    ("headers", "calls"),
    [
        ({}, None),
        ({"x-ratelimit-limit-requests": "50"}, 50),
        ({"x-ratelimit-limit-requests": "500", "x-ratelimit-limit-tokens": "200000"}, 20),
        ({"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-output-tokens-limit": "8000"}, 8),
        ({"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-input-tokens-limit": "30000"}, 10),
        ({"x-ratelimit-limit-requests": "30000"}, MAX_CALLS),
        ({"x-ratelimit-limit-requests": "0.1"}, 1),
        ({"x-ratelimit-limit-requests": "many", "x-ratelimit-limit-tokens": "nan"}, None),
        ({"x-ratelimit-limit-requests": "0"}, None),
    ],
)
def test_the_lowest_limit_counts(headers, calls) -> None:
    limits = RateLimits()

    limits.answered(headers, USED, MINUTE_AND_A_QUARTER)

    assert limits.calls == calls


def test_longer_calls_allow_more_calls_at_once() -> None:
    short, long = RateLimits(), RateLimits()
    for limits, seconds in ((short, 15.0), (long, 60.0)):
        limits.answered({"x-ratelimit-limit-requests": "100"}, USED, seconds)

    assert (short.calls, long.calls) == (20, 80)


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
async def test_a_provider_learns_its_limits_from_response_headers(server, make) -> None:
    provider = make(server)

    await provider.attempt(chapter_request())
    untold = provider.calls_at_once
    server.configure(headers={"x-ratelimit-limit-requests": "60000000"})
    await provider.attempt(chapter_request())

    assert (untold, provider.calls_at_once) == (None, MAX_CALLS)
    await provider.close()


class LimitedProvider(Provider):
    """Answers once the number of calls it has capacity for is in flight."""

    name = "limited"
    calls_at_once: int | None = 3

    def __init__(self) -> None:
        self.running = self.most_at_once = 0

    async def attempt(self, request: TextRequest) -> TextReply:
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        return TextReply("Text.", StopReason.END, USED, self.name)

    def most(self, request: TextRequest) -> Usage:
        return USED


@pytest.mark.parametrize(("follows", "most"), [(True, 3), (False, 5)])
async def test_a_model_makes_as_many_concurrent_calls_as_its_provider_allows(follows, most) -> None:
    provider = LimitedProvider()
    model = RetryingModel(provider, pacing=Pacing(concurrency=5), follows=follows)
    await model.complete(chapter_request())

    await asyncio.gather(*(model.complete(chapter_request()) for _ in range(12)))

    assert provider.most_at_once == most
