"""Whatever happens to an account, its balances add up after each step."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import money
from tests.billing.histories import DEEDS, History

# Always the same histories here. `python -m bench.money` runs ten thousand others.
deeds = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 2**16)), min_size=10, max_size=40)


@pytest.mark.timeout(300)
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(deeds=deeds)
async def test_balances_and_ledgers_agree_after_any_sequence_of_events(pool, stripe, payments, quota, clock, deeds):
    await History(pool, stripe, payments, quota, clock).live(deeds)


async def test_the_bench_runs_histories_concurrently_on_one_database(dsn, capsys):
    await money.live(dsn, 12, seed=0)

    assert "12 histories" in capsys.readouterr().out
