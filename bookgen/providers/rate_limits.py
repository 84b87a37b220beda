"""Calculates how many concurrent calls a provider allows, from the rate limits that its responses report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bookgen.models import Usage
from bookgen.providers.headers import number

MIN_CALLS, MAX_CALLS = 1, 256  # calls at once
SHARE = 0.8  # of a limit: other programs may use the same key
MEMORY = 0.3  # weight of the newest call in the mean

# The headers with a limit per minute, and how much of it a call uses.
_TAKES: Mapping[str, Callable[[Usage], int]] = {
    "x-ratelimit-limit-requests": lambda usage: 1,
    "x-ratelimit-limit-tokens": lambda usage: usage.input_tokens + usage.cache_read_tokens + usage.output_tokens,
    "anthropic-ratelimit-requests-limit": lambda usage: 1,
    "anthropic-ratelimit-input-tokens-limit": lambda usage: usage.input_tokens + usage.cache_write_tokens,
    "anthropic-ratelimit-output-tokens-limit": lambda usage: usage.output_tokens,
}


class RateLimits:
    """Learns from responses what the limits per minute are, how much of them a call uses, and how long a call takes.

    Example: if the limits allow 60 calls per minute and a call takes 30 seconds, 30 concurrent calls use the limits up.
    """

    def __init__(self) -> None:
        self._limits: dict[str, float] = {}
        self._taken: dict[str, float] = {}
        self._seconds = 0.0

    def answered(self, headers: Mapping[str, str], usage: Usage, seconds: float) -> None:
        """Record a call: the headers of its response, its usage, and how many seconds it took."""
        self._seconds = _mean(self._seconds, seconds)
        for name, takes in _TAKES.items():
            if limit := number(headers.get(name, "")):
                self._limits[name] = limit
                self._taken[name] = _mean(self._taken.get(name, 0.0), takes(usage))

    @property
    def calls(self) -> int | None:
        """How many concurrent calls the limits allow; None if the provider reports no limits."""
        a_minute = [limit / taken for name, limit in self._limits.items() if (taken := self._taken[name])]
        if not a_minute or not self._seconds:
            return None
        return min(max(int(min(a_minute) * SHARE * self._seconds / 60), MIN_CALLS), MAX_CALLS)


def _mean(before: float, seen: float) -> float:
    return seen if not before else before + MEMORY * (seen - before)
