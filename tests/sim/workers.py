"""Worker processes that run schedules, each on a database of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from tests.sim.cluster import make_database, open_postgres
from tests.sim.planted import planted
from tests.sim.postgres import Postgres
from tests.sim.schedule import ScheduleVerdict, run_schedule

_own: tuple[str, Postgres] | None = None  # of a worker process


class Workers:
    """With one worker, the schedules run in this very process."""

    def __init__(self, cluster_dsn: str, count: int) -> None:
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), _start, (cluster_dsn,)) if count > 1 else None
        if self._pool is None:
            _start(cluster_dsn)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def hunt(self, bugs: Iterable[str], first: int, schedules: int) -> Iterator[Hunt]:
        """How each of the planted bugs fares, in their order."""
        one = partial(_hunt, first=first, schedules=schedules)
        return self._pool.map(one, bugs) if self._pool else map(one, bugs)

    def run(self, seeds: Iterable[int], faults: Sequence[int] | None, tell: bool) -> Iterator[ScheduleVerdict]:
        """The verdicts, in the order of the seeds."""
        one = partial(_run, faults=faults, tell=tell)
        return self._pool.map(one, seeds) if self._pool else map(one, seeds)

    def run_one(self, seed: int, faults: Sequence[int] | None) -> ScheduleVerdict:
        return next(self.run([seed], faults, False))


@dataclass(frozen=True, slots=True)
class Hunt:
    """The schedules that it took to find a planted bug, and what was seen of it; None when it was not found."""

    bug: str
    schedules: int
    finding: str | None


def _start(cluster_dsn: str) -> None:
    global _own
    dsn = asyncio.run(make_database(cluster_dsn))
    _own = dsn, open_postgres(dsn)


def _run(seed: int, faults: Sequence[int] | None, tell: bool) -> ScheduleVerdict:
    assert _own is not None
    return run_schedule(*_own, seed, faults=faults, tell=tell)


def _hunt(bug: str, first: int, schedules: int) -> Hunt:
    with planted(bug):
        for seed in range(first, first + schedules):
            if findings := _run(seed, None, False).findings:
                return Hunt(bug, seed - first + 1, findings[0])
    return Hunt(bug, schedules, None)
