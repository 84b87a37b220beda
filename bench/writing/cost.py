"""Tokens and cost: the ledger, the cache and the estimate."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import replace

from bench.writing.row import Measure, Size
from bookgen.models import Usage
from bookgen.providers.prices import prices
from bookgen.writing.estimate import Basis, estimate
from bookgen.writing.material import Material
from tests.writing.authored import PROTOCOLS, authored, write_book
from tests.writing.misbehaved import writes
from tests.writing.scripted import obedient, some_material

MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-terra"}


async def rows(size: Size) -> AsyncIterator[Measure]:
    for protocol in PROTOCOLS:
        yield await _cache(size, protocol)
    for protocol in PROTOCOLS:
        yield await _estimates(size, protocol)


async def _cache(size: Size, protocol: str) -> Measure:
    async with authored(obedient, protocol, MODELS[protocol]) as (server, steps):
        await write_book(some_material(size.chapters, words=size.words), steps)
    used, told = steps.usage, server.ledger
    equal = told == {
        "calls": used.calls,
        "input": used.input_tokens,
        "output": used.output_tokens,
        "cache_write": used.cache_write_tokens,
        "cache_read": used.cache_read_tokens,
    }
    # A chapter takes one call and its notes another. New input of these calls: the chapter's task, its text and its
    # notes.
    new = (used.input_tokens + used.cache_write_tokens) / used.output_tokens
    name = f"{protocol}:{MODELS[protocol]}"
    share = (price(name, replace(used, output_tokens=0)) or 0) / (price(name, used) or 1)
    return Measure(
        "uncached input",
        protocol,
        f"{new:.2f} x the output, all input {share:.0%} of the cost, ledger {'equal' if equal else 'differs'}",
        "<= 1.35 x, <= 35 %, equal",
        new <= 1.35 and share <= 0.35 and equal,
    )


def price(name: str, usage: Usage) -> int | None:
    """The price as that of many small calls: a surcharge for a large call does not apply to a sum of calls."""
    found = prices().of(name)
    return None if found is None else replace(found, above=None).of(usage)


async def _estimates(size: Size, protocol: str) -> Measure:
    rng = random.Random(f"estimates {protocol}")
    near, misses = 0, []
    name = f"{protocol}:{MODELS[protocol]}"
    for _ in range(size.books):
        material = _a_mixed_book(rng)
        foreseen = estimate(Basis.of(material.book, material.chapters), name, price)
        async with authored(writes(lambda: rng.uniform(0.7, 1.2)), protocol, MODELS[protocol]) as (_, steps):
            await write_book(material, steps)
        actual = price(name, steps.usage) or 1
        miss = (foreseen.cost_micros or 0) / actual - 1
        misses.append(miss)
        near += abs(miss) <= 0.15
    return Measure(
        f"estimate of {size.books} mixed books",
        protocol,
        f"{near / size.books:.0%} within 15 %, {min(misses):+.0%} to {max(misses):+.0%}",
        ">= 90 %",
        near >= 0.9 * size.books,
    )


def _a_mixed_book(rng: random.Random) -> Material:
    return some_material(
        rng.randint(3, 16),
        words=rng.randint(800, 4_500),
        description="A lamp keeper looks for the one who put out her lamp. " * rng.randint(1, 30),
        genre=rng.choice(["Mystery novel", "Travel guide", "Memoir", "Children's book"]),
    )
