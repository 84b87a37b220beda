"""The prices of model calls, in millionths of one currency, from the table of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bookgen.models import Usage
from bookgen.providers.models_file import Rates, RatesAbove, read_table

MILLION = 1_000_000
_DATE = re.compile(r"-\d{4}-?\d{2}-?\d{2}\Z")


@dataclass(frozen=True, slots=True)
class Price:
    """Prices per million tokens of each kind, in millionths of the currency.

    `above`: the prices of a call whose prompt has more than `over` tokens.
    """

    input: int
    output: int
    cache_write: int
    cache_read: int
    over: int = 0
    above: Price | None = None

    def of(self, usage: Usage) -> int:
        """Return the cost in millionths of the currency, rounded up so that the sum over many calls is never too low.

        If `usage` covers several calls, their mean prompt length decides whether `above` applies.
        """
        prompts = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        if self.above is not None and prompts > self.over * max(usage.calls, 1):
            return self.above.of(usage)
        exact = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_write_tokens * self.cache_write
            + usage.cache_read_tokens * self.cache_read
        )
        return -(-exact // MILLION)


@dataclass(frozen=True, slots=True)
class Prices:
    """The table of prices. Models are named `provider:model`.

    `defaults`, `image_defaults`: the default text model and image model of each provider. `windows`, `outputs`: the
    context window and the longest reply of each model, in tokens. `picture_tokens`: the output tokens that an image
    model usually needs for a square picture.
    """

    currency: str
    verified_on: str
    models: Mapping[str, Price]
    defaults: Mapping[str, str]
    image_defaults: Mapping[str, str]
    picture_tokens: int
    windows: Mapping[str, int]
    outputs: Mapping[str, int]

    def context_window(self, model: str) -> int | None:
        """Return the context window in tokens, for prompt and reply together; None if the table does not have it."""
        return self.windows.get(model) or self.windows.get(_DATE.sub("", model))

    def max_output(self, model: str) -> int | None:
        """Return the length of the model's longest reply in tokens; None if the table does not have it."""
        return self.outputs.get(model) or self.outputs.get(_DATE.sub("", model))

    def of(self, model: str) -> Price | None:
        """Return the price of `provider:model`; None if the table has none.

        A name with a date (`model-20261021`, `model-2026-10-21`) has the price of the model without a date.
        """
        return self.models.get(model) or self.models.get(_DATE.sub("", model))

    def priced(self, usage: Usage, model: str) -> Usage:
        price = self.of(model)
        if price is None:
            return replace(usage, unknown_price=True)
        return replace(usage, cost_micros=price.of(usage))


def prices() -> Prices:
    """Return the table in use: the packaged table, unless `use` has read another file."""
    return _current or _prices(None)


def use(file: Path | None) -> None:
    """From now on, override the packaged table with `file` in this process. Raises StartupError for a wrong entry."""
    global _current
    _current = _prices(file)


_current: Prices | None = None


@cache
def _prices(file: Path | None) -> Prices:
    table = read_table(file)
    known = {
        provider if provider == name else f"{provider}:{name}": entry
        for provider, named in table.models.items()
        for name, entry in named.items()
    }
    return Prices(
        table.currency,
        table.verified_on.isoformat(),
        {name: _price(entry.rates, entry.above) for name, entry in known.items() if entry.rates},
        table.default,
        table.default_images,
        table.picture.tokens,
        {name: entry.context_window for name, entry in known.items() if entry.context_window},
        {name: entry.max_output_tokens for name, entry in known.items() if entry.max_output_tokens},
    )


def _price(rates: Rates, above: RatesAbove | None = None) -> Price:
    return Price(
        rates.input,
        rates.output,
        rates.cache_write,
        rates.cache_read,
        over=above.tokens if above else 0,
        above=_price(above) if above else None,
    )
