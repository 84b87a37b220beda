"""A free account cannot get more of the providers than its plan allows. `make histories` tries a thousand histories."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.databases import Lent
from tests.http.free_histories import small_allowances, universe

SEEDS = range(int(os.environ.get("HISTORIES", "4")))


@pytest.mark.timeout(600)
async def test_no_random_history_of_a_free_account_exceeds_its_allowance_by_more_than_one_call(
    lent: Lent, tmp_path: Path
) -> None:
    with small_allowances():
        async with universe(lent, tmp_path) as lived:
            histories = await asyncio.gather(*map(lived.live, SEEDS))

    assert any(used > 0 for tally, _ in histories for used, _ in tally.values())
