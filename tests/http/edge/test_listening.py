import asyncio
import contextlib
import os
import resource
import signal
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bookgen.app import providers
from bookgen.errors import StartupError
from bookgen.http.edge import listening
from bookgen.settings import Config, names
from bookgen.store.database import Database
from tests.composition import composed


def test_a_busy_port_is_reported_in_one_line() -> None:
    with listening.bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            StartupError, match=rf"^BOOKGEN_PORT={port} on 127\.0\.0\.1 can't be used: .*another port\.$"
        ):
            listening.bind("127.0.0.1", port)


def test_a_host_of_another_machine_is_reported_in_one_line() -> None:
    with pytest.raises(StartupError, match=r"192\.0\.2\.1"):
        listening.bind("192.0.2.1", 0)
    with pytest.raises(StartupError, match="BOOKGEN_HOST=no such host is not an address"):
        listening.bind("no such host", 0)


def test_the_limit_on_open_files_is_raised_to_the_maximum() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        listening.allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1] % 2**63, listening.MAX_FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_address_contains_the_port_that_was_chosen() -> None:
    with listening.bind("127.0.0.1", 0) as bound:
        assert listening.address(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize(("host", "everywhere"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_listening_on_all_interfaces_is_detected(host: str, everywhere: bool) -> None:
    with listening.bind(host, 0) as bound:
        assert listening.is_everywhere(bound) is everywhere


async def test_the_first_signal_starts_a_drain_and_the_second_ends_it() -> None:
    with listening.StopSignal().listening() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.requested.wait()
        assert not stop.forced.is_set()

        os.kill(os.getpid(), signal.SIGINT)
        await stop.forced.wait()


async def test_an_interrupted_drain_ends_without_waiting() -> None:
    seen: list[float] = []
    forced = asyncio.Event()

    async def drain(seconds: float) -> None:
        seen.append(seconds)
        if seconds:
            forced.set()
            await asyncio.Event().wait()

    await listening.drain(drain, 25, forced)

    assert seen == [25, 0]


async def test_a_failing_drain_raises_its_error() -> None:
    async def drain(_: float) -> None:
        raise StartupError("it broke")

    with pytest.raises(StartupError, match="it broke"), contextlib.suppress(asyncio.CancelledError):
        await listening.drain(drain, 1, asyncio.Event())


PAID = {"model": "openai:llama3", "openai_api_key": "k"}


def test_a_cap_that_cannot_stop_a_model_is_reported_at_the_start() -> None:
    variables = names()
    closed = {variables["registration"]: "closed"} | {variables[field]: value for field, value in PAID.items()}
    with capture_logs() as logs:
        for cap in ({variables["book_cost_cap"]: "12.50"}, {}):
            chosen = Config(_env_file=None, **closed, **cap)
            providers.build_caps(chosen, providers.build_model(chosen))

    assert [(entry["event"], entry["model"]) for entry in logs] == [("cost_cap_cannot_stop", "openai:llama3")]


@pytest.mark.parametrize(
    ("settings", "caps"),
    [
        (PAID, (5_000_000, 50_000_000)),
        (PAID | {"account_daily_cost_cap": "7.50"}, (7_500_000, 50_000_000)),
        (PAID | {"registration": "closed"}, (None, None)),
        (PAID | {"billing": "on"}, (None, None)),
        ({"model": "offline"}, (None, None)),
    ],
)
def test_open_registration_with_a_paid_model_sets_a_daily_cap_and_says_so(
    settings: dict[str, str], caps: tuple[int | None, int | None]
) -> None:
    variables = names()
    chosen = Config(_env_file=None, **{variables[field]: value for field, value in settings.items()})

    with capture_logs() as logs:
        found = providers.build_caps(chosen, providers.build_model(chosen))

    told = [line["what"] for line in logs if line["event"] == "strangers_may_spend"]
    assert (found.account_day, found.day) == caps
    assert len(told) == (caps[0] is not None)
    assert all(f"up to {caps[0] / 1e6:.2f} USD per account" in line for line in told if caps[0])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (PAID | {"billing": "on"}, 1),
        (PAID | {"billing": "on", "daily_cost_cap": "7.50"}, 0),
        (PAID | {"billing": "on", "registration": "closed"}, 0),
        ({"model": "offline", "billing": "on"}, 0),
    ],
)
def test_free_plans_without_a_spending_cap_are_reported_at_the_start(settings: dict[str, str], told: int) -> None:
    variables = names()
    chosen = Config(_env_file=None, **{variables[field]: value for field, value in settings.items()})

    with capture_logs() as logs:
        providers.build_caps(chosen, providers.build_model(chosen))

    assert [line["event"] for line in logs].count("spending_has_no_cap") == told


SONNET = {"model": "anthropic:claude-sonnet-5-5", "anthropic_api_key": "k"}


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        (SONNET, 200_000),
        (SONNET | {"context_tokens": "40000"}, 40_000),
        (SONNET | {"context_tokens": "900000"}, 200_000),
        (PAID, 32_000),
        (PAID | {"context_tokens": "200000"}, 32_000),
        ({"model": "offline"}, 32_000),
    ],
)
def test_a_calls_context_is_the_smaller_of_the_models_and_the_operators_limit(
    settings: dict[str, str], tokens: int
) -> None:
    variables = names()
    chosen = Config(_env_file=None, **{variables[field]: value for field, value in settings.items()})

    assert providers.context_tokens(chosen, providers.build_model(chosen)) == tokens


@pytest.mark.parametrize("cap", [None, "7.50"])
def test_a_private_server_has_only_the_caps_that_were_set(cap: str | None) -> None:
    variables = names()
    settings = PAID | ({"daily_cost_cap": cap} if cap else {})
    chosen = Config(_env_file=None, **{variables[field]: value for field, value in settings.items()})

    with capture_logs() as logs:
        found = providers.build_caps(chosen, providers.build_model(chosen), alone=True)

    assert (found.account_day, found.day) == (None, 7_500_000 if cap else None)
    assert "strangers_may_spend" not in [line["event"] for line in logs]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"stripe_secret_key": "sk_test_x"}, 1),
        ({"stripe_secret_key": "sk_test_x", "stripe_webhook_secret": "whsec_x"}, 0),
        ({"stripe_secret_key": "sk_test_x", "billing": "off"}, 0),
        ({"billing": "on"}, 0),
    ],
)
async def test_missing_payment_webhooks_are_reported_at_the_start(
    database: Database, tmp_path: Path, settings: dict[str, str], told: int
) -> None:
    with capture_logs() as logs:
        async with composed(database, tmp_path, **settings):
            pass

    found = [line["to_do"] for line in logs if line["event"] == "payments_not_confirmed"]
    assert len(found) == told
    assert all("STRIPE_WEBHOOK_SECRET" in line for line in found)
