"""Payments through the real service in a separate process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.canaries import CANARY
from tests.fakes.stripe_server import NEXT_WEBHOOK_SECRET, SECRET_KEY, WEBHOOK_SECRET, FakeStripe
from tests.service import ServiceProcess, run

API = "/api/v1"


@pytest.fixture
async def processor() -> AsyncIterator[FakeStripe]:
    stripe = FakeStripe()
    await stripe.start()
    yield stripe
    await stripe.stop()


async def test_a_purchase_survives_a_kill_and_is_delivered_once(tmp_path: Path, processor: FakeStripe) -> None:
    keys = {
        "STRIPE_SECRET_KEY": SECRET_KEY,
        "STRIPE_API_BASE": processor.url,
        "STRIPE_WEBHOOK_SECRET": f"{NEXT_WEBHOOK_SECRET}, {WEBHOOK_SECRET}",
        "BOOKGEN_SECRET_KEY": f"a key {CANARY} of the tests that is long enough",
    }
    form = {"username": "ada", "email": "ada@example.org", "password": f"correct horse {CANARY}"}
    async with ServiceProcess(tmp_path, **keys) as service, aiohttp.ClientSession(service.url) as http:
        tokens = (await (await http.post(f"{API}/auth/register/", json=form)).json())["tokens"]
        signed_in = {"Authorization": f"Bearer {tokens['access']}"}
        reply = await http.post(f"{API}/auth/credits/checkout/", json={"package": "five-pack"}, headers=signed_in)
        processor.pay((await reply.json())["sessionId"])
        assert await delivered(http, processor) == 200
        await service.kill()

    async with ServiceProcess(tmp_path, **keys) as service, aiohttp.ClientSession(service.url) as http:
        assert await delivered(http, processor) == 200
        wallet = await (await http.get(f"{API}/auth/credits/balance/", headers=signed_in)).json()
        profile = await (await http.get(f"{API}/auth/profile/", headers=signed_in)).json()

    assert (wallet["balance"], wallet["total_purchased"]) == (5, 5)
    assert profile["subscription"]["plan"]["slug"] == "free"


async def test_payments_are_set_up_from_the_command_line(tmp_path: Path, processor: FakeStripe) -> None:
    settings = {"STRIPE_SECRET_KEY": SECRET_KEY, "STRIPE_API_BASE": processor.url}
    async with ServiceProcess(tmp_path):
        pass

    _, dry, complaint = await run(tmp_path, "payments", "sync", **settings)
    _, made, _ = await run(tmp_path, "payments", "sync", "--apply", **settings)
    code, again, _ = await run(tmp_path, "payments", "sync", **settings)

    assert "bookgen_plan_pro_yearly: the price is missing, should be 49000 cents" in dry, complaint
    assert "STRIPE_WEBHOOK_SECRET=whsec_" in made
    assert (code, again.strip()) == (0, "nothing to do")


async def delivered(http: aiohttp.ClientSession, processor: FakeStripe) -> int:
    body, signature = processor.delivery(processor.events[-1])
    reply = await http.post(f"{API}/webhooks/stripe/", data=body, headers={"Stripe-Signature": signature})
    return reply.status
