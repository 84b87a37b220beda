"""Rate limits with token buckets, and finding the client address that a rate limit applies to."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

from bookgen.errors import RateLimited

# An IPv6 site has a /48, which holds 65,536 households. Together they may send this many times the requests of one.
HOUSEHOLDS_OF_A_SITE = 10

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


class Scope(StrEnum):
    """Where a caller's bucket is: in the memory of each process, or in one row of the database for all processes."""

    PROCESS = "process"
    SHARED = "shared"


class LimitClass(StrEnum):
    """The classes of endpoints. Each class has a default rate limit, which the setting `rate_<name>` replaces."""

    default: str
    scope: Scope
    meaning: str

    def __new__(cls, name: str, default: str, scope: Scope, meaning: str) -> LimitClass:
        member = str.__new__(cls, name)
        member._value_ = name
        member.default, member.scope, member.meaning = default, scope, meaning
        return member

    READ = "read", "300/minute", Scope.PROCESS, "Requests that read, per account and process."
    WRITE = "write", "120/minute", Scope.PROCESS, "Requests that write, per account and process."
    EXPENSIVE = "expensive", "20/minute", Scope.SHARED, "Requests that generate or export, per account."
    PUBLIC = "public", "120/minute", Scope.PROCESS, "Requests without a token, per IP address and process."
    AUTH = "auth", "60/minute", Scope.SHARED, "Registrations and sign-ins, per IP address."

    @property
    def setting(self) -> str:
        """The name of the field of Config that holds the rate limit of this class."""
        return f"rate_{self.value}"


@dataclass(frozen=True, slots=True)
class Budget:
    """The size of a bucket: it holds `capacity` requests and refills completely in `seconds`."""

    capacity: int
    seconds: float

    @property
    def rate(self) -> float:
        """How many requests are added to the bucket per second."""
        return self.capacity / self.seconds

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Parse a rate such as `300/minute`. Raises ValueError if `text` is not a rate."""
        match = re.fullmatch(r"([1-9][0-9]{0,8})/(second|minute|hour|day)", text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a rate like 300/minute")
        return cls(int(match[1]), _SECONDS[match[2]])

    def refilled(self, tokens: float, elapsed: float) -> float:
        return min(float(self.capacity), tokens + elapsed * self.rate)

    def verdict(self, tokens: float, *, allowed: bool) -> Verdict:
        """The verdict on a request. `allowed`: whether it is allowed. `tokens`: what is left in its bucket."""
        rate = self.rate
        reset = math.ceil((self.capacity - tokens) / rate)
        retry_after = 1 if allowed else max(1, math.ceil((1 - tokens) / rate))
        return Verdict(allowed, self.capacity, int(tokens), reset, retry_after)


class Verdict(NamedTuple):
    """Whether a request is allowed. `limit`: how many requests its bucket can hold. `remaining`: how many it holds now.

    `reset`: seconds until the bucket is full again. `retry_after`: seconds until a request is allowed, at least 1.
    """

    allowed: bool
    limit: int
    remaining: int
    reset: int
    retry_after: int

    def refusal(self, scope: str, message: str | None = None) -> RateLimited:
        """The error for a request that is not allowed. `scope`: what the error's details call the limit."""
        limit, remaining, reset = self.limit, self.remaining, self.reset
        return RateLimited(
            message, retry_after=self.retry_after, limit=limit, remaining=remaining, reset_seconds=reset, scope=scope
        )


class Limiter:
    """The token buckets of one process. There are at most `max_callers` per class.

    To make room for a new bucket, the bucket that was unused longest is dropped.
    """

    def __init__(
        self,
        budgets: Mapping[LimitClass, Budget],
        *,
        max_callers: int = 50_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budgets = budgets
        self._max_callers = max_callers
        self._clock = clock
        self._buckets: defaultdict[str, OrderedDict[int | str, tuple[float, float]]] = defaultdict(OrderedDict)

    def take(self, limit_class: LimitClass, caller: int | str) -> Verdict:
        """Take one token from the caller's bucket, if one is left."""
        return self.take_from(limit_class, caller, self.budgets[limit_class])

    def take_of_address(self, limit_class: LimitClass, address: str) -> Verdict:
        """Take one token for a request without an account, from the bucket of its IP address.

        For IPv6, a token is also taken from the bucket of the site, the /48 network of the address.
        """
        verdict = self.take(limit_class, address_bucket(address))
        site = site_bucket(address)
        if site is None or not verdict.allowed:
            return verdict
        budget = self.budgets[limit_class]
        whole = self.take_from(
            f"{limit_class} of a site", site, Budget(budget.capacity * HOUSEHOLDS_OF_A_SITE, budget.seconds)
        )
        return verdict if whole.allowed else whole

    def take_from(self, name: str, caller: int | str, budget: Budget) -> Verdict:
        """Take one token, if one is left, from the caller's bucket called `name`. `budget`: the size of this bucket."""
        now = self._clock()
        buckets = self._buckets[name]
        bucket = buckets.get(caller)
        if bucket is None:
            tokens = float(budget.capacity)
            if len(buckets) >= self._max_callers:
                buckets.popitem(last=False)
        else:
            tokens = budget.refilled(bucket[0], now - bucket[1])
            buckets.move_to_end(caller)
        allowed = tokens >= 1
        if allowed:
            tokens -= 1
        buckets[caller] = (tokens, now)
        return budget.verdict(tokens, allowed=allowed)

    def give_back(self, name: str, caller: int | str, budget: Budget) -> None:
        """Put back a token that `take_from` took from the same bucket."""
        buckets = self._buckets[name]
        if bucket := buckets.get(caller):
            buckets[caller] = (min(float(budget.capacity), bucket[0] + 1), bucket[1])

    def peek(self, limit_class: LimitClass, caller: int | str) -> Verdict:
        """The verdict that a request would get now, without taking a token."""
        budget = self.budgets[limit_class]
        bucket = self._buckets[limit_class].get(caller)
        tokens = budget.refilled(bucket[0], self._clock() - bucket[1]) if bucket else float(budget.capacity)
        return budget.verdict(tokens, allowed=tokens >= 1)


def client_address(peer: str | None, forwarded: Iterable[str], trusted: Iterable[Network]) -> str:
    """The client's IP address: the peer or, behind trusted proxies, the last untrusted address in X-Forwarded-For."""
    networks = tuple(trusted)
    client = parse_address(peer or "")
    if client is None:
        return peer or ""
    for hop in reversed([part for header in forwarded for part in header.split(",")]):
        if not any(client in network for network in networks):
            break
        before = parse_address(hop)
        if before is None:
            break
        client = before
    return str(client)


def parse_address(text: str) -> Address | None:
    """Parse an IP address, without its port, scope or IPv4-in-IPv6 mapping. Returns None if it is not an address."""
    text = text.strip().strip('"')
    if match := re.fullmatch(r"\[([^\]]+)\](?::\d+)?", text) or re.fullmatch(r"([\d.]+):\d+", text):
        text = match[1]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def address_bucket(address: str) -> str:
    """The key of an address's bucket: an IPv4 address itself, or the /64 network of an IPv6 address.

    A household usually has a whole /64. IPv4 clients of a dual-stack socket, such as ::ffff:192.0.2.1, count as IPv4.
    """
    if ":" not in address:
        return address
    parsed = parse_address(address)
    if not isinstance(parsed, IPv6Address):
        return str(parsed or address)
    return str(IPv6Network((parsed, 64), strict=False).network_address)


def site_bucket(address: str) -> str | None:
    """The key of the bucket of an IPv6 address's site, a /48 network, which one customer may have; None for IPv4."""
    parsed = parse_address(address) if ":" in address else None
    if not isinstance(parsed, IPv6Address):
        return None
    return str(IPv6Network((parsed, 48), strict=False))
