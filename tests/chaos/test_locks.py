"""Concurrent requests that write the same rows end without a deadlock and without a 503."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.locks import MIXES, outcome


@pytest.mark.parametrize("mix", MIXES)
async def test_concurrent_requests_cause_no_deadlock(dsn: str, tmp_path: Path, mix: str) -> None:
    found = await outcome(mix, dsn, tmp_path, seconds=6)

    assert found.passed, found
