"""No account and no server exceeds its daily cap, by the provider's own bill.

SPENDING=N tries N random days instead of a few and prints the most expensive one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random

import pytest

from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model, build_text_model
from tests.http.conftest import Api, OpenApi
from tests.http.spending import IMAGE_MODEL, TEXT_MODEL, BillingModels, BillingPictures, Spender

HISTORIES = int(os.environ.get("SPENDING", "3"))
CAP = 500_000


@dataclass
class Providers:
    models: BillingModels
    pictures: BillingPictures

    @property
    def billed(self) -> int:
        return self.models.billed + self.pictures.billed


@pytest.fixture
async def providers() -> AsyncIterator[Providers]:
    async with BillingModels() as models, BillingPictures() as pictures:
        yield Providers(models, pictures)


async def service(open_api: OpenApi, providers: Providers, **settings: str) -> Api:
    urls = {"anthropic": providers.models.anthropic_url, "openai": providers.pictures.url}
    access = {name: Access("key", url) for name, url in urls.items()}
    told = ModelSettings(access=access, retry_delay=0.01, tries=3, concurrency=16)
    return await open_api(
        model=build_text_model(TEXT_MODEL, told), images=build_image_model(IMAGE_MODEL, told), **settings
    )


async def test_an_account_cannot_exceed_its_daily_cap(open_api: OpenApi, providers: Providers) -> None:
    api = await service(open_api, providers, account_daily_cost_cap="0.50")
    worst, reached = (0, 0), 0
    for history in range(HISTORIES):
        before = providers.billed
        spender = Spender(await api.as_new_account(f"spender{history}"), providers.models, Random(history))
        await spender.live()
        await spender.end()
        spent = providers.billed - before
        worst, reached = max(worst, (spent, history)), reached + (spent > CAP / 2)
        assert spent <= CAP, f"history {history}"
    print(f"\n{HISTORIES} histories, the worst (number {worst[1]}) cost {worst[0] / 1e6:.2f} of {CAP / 1e6:.2f}; "
          f"{reached} more than half of it.")  # fmt: skip
    assert worst[0] > 0


async def test_all_accounts_together_cannot_exceed_the_servers_daily_cap(
    open_api: OpenApi, providers: Providers
) -> None:
    api = await service(open_api, providers, daily_cost_cap="0.50")
    spenders = [
        Spender(await api.as_new_account(f"spender{number}"), providers.models, Random(-number)) for number in range(4)
    ]

    await asyncio.gather(*(spender.live() for spender in spenders))

    for spender in spenders:
        await spender.end()
    assert 0 < providers.billed <= CAP
