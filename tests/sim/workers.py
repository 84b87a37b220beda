"""Worker processes that run schedules, each on its own database."""

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
from tests.sim.schedule import LONG, SHORT, ScheduleSize, ScheduleVerdict, run_schedule

_own: tuple[str, Postgres] | None = None  # of a worker process
_size = LONG


class Workers:
    """With one worker, schedules run in this process. `short`: schedules of 8 seconds instead of 75."""

    def __init__(self, cluster_dsn: str, count: int, *, short: bool = False) -> None:
        how = (cluster_dsn, short)
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), _start, how) if count > 1 else None
        if self._pool is None:
            _start(*how)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def hunt(self, bugs: Iterable[str], first: int, schedules: int) -> Iterator[Hunt]:
        """Hunt each planted bug, in order."""
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
    """How many schedules it took to find a planted bug, and what was found; None if it was not found."""

    bug: str
    schedules: int
    finding: str | None


def _start(cluster_dsn: str, short: bool) -> None:
    global _own, _size
    _size = SHORT if short else LONG
    dsn = asyncio.run(make_database(cluster_dsn))
    _own = dsn, open_postgres(dsn)


def _run(seed: int, faults: Sequence[int] | None, tell: bool, size: ScheduleSize | None = None) -> ScheduleVerdict:
    assert _own is not None
    return run_schedule(*_own, seed, size or _size, faults=faults, tell=tell)


def _hunt(bug: str, first: int, schedules: int) -> Hunt:
    """Every tenth schedule is long, because only then do authors continue while leases expire."""
    for seed in range(first, first + schedules):
        size = LONG if seed % 10 == 0 else _size
        with planted(bug):
            findings = _run(seed, None, False, size).findings
        if findings and not _run(seed, None, False, size).findings:  # it has found this bug
            return Hunt(bug, seed - first + 1, findings[0])
    return Hunt(bug, schedules, None)
