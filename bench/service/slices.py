"""Alternating slices of load with the CPU time of server and database, and ratios that are robust on a busy machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.service.machine import cpu_seconds, family, machine_seconds
from bench.service.processes import ROOT, ServerProcess

QUIET_CORES = 0.35  # the maximum that other programs may use in a quiet slice
ENOUGH = 5  # quiet slices; with fewer, all slices count


@dataclass(frozen=True, slots=True)
class Slice:
    """The result of one slice of load. Times are in seconds, CPU in microseconds per response, `foreign` in cores."""

    answers: int
    bad: int
    rate: float
    p50: float
    p99: float
    server: float
    database: float
    foreign: float

    @property
    def cpu(self) -> float:
        return self.server + self.database


class LoadGenerator:
    """The process of `load.py`."""

    def __init__(self, process: asyncio.subprocess.Process, postmaster: int) -> None:
        self._process = process
        self._postmaster = postmaster

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, postmaster: int) -> AsyncIterator[LoadGenerator]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.service.load", stdin=pipe, stdout=pipe, cwd=ROOT
        )
        try:
            yield cls(process, postmaster)
        finally:
            process.terminate()
            await process.wait()

    async def send(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Run a job, and return the result that `load.py` prints."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("The load generator has no pipes.")
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        await self._process.stdin.drain()
        result: dict[str, Any] = json.loads(await self._process.stdout.readline())
        return result

    async def slice(
        self,
        server: ServerProcess,
        requests: Path,
        connections: int,
        *,
        seconds: float | None = None,
        count: int | None = None,
    ) -> Slice:
        serving, storing = family(server.pid), family(self._postmaster)
        before = cpu_seconds(serving), cpu_seconds(storing), self._own(), machine_seconds()
        job = {"port": server.port, "requests": str(requests), "connections": connections}
        seen = await self.send(job | {"seconds": seconds, "count": count})
        after = cpu_seconds(serving), cpu_seconds(storing), self._own(), machine_seconds()
        served, stored, own, machine = (b - a for a, b in zip(before, after, strict=True))
        answers = max(1, seen["answers"])
        return Slice(
            seen["answers"],
            seen["bad"],
            seen["answers"] / seen["seconds"],
            seen["p50"],
            seen["p99"],
            served / answers * 1e6,
            stored / answers * 1e6,
            max(0.0, (machine - served - stored - own) / seen["seconds"]),
        )

    def _own(self) -> float:
        return cpu_seconds([self._process.pid])


Measure = Callable[[], Awaitable[Slice]]


async def in_turn(rows: Mapping[str, Measure], rounds: int) -> dict[str, list[Slice]]:
    """Yield every row once per round. Each round starts with a different row."""
    results: dict[str, list[Slice]] = {name: [] for name in rows}
    names = list(rows)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            results[name].append(await rows[name]())
    return results


def ratio(of: Sequence[Slice], to: Sequence[Slice], figure: Callable[[Slice], float]) -> float:
    """The median over the rounds of one row's value divided by the other's in the same round."""
    pairs = [(figure(a) / figure(b), max(a.foreign, b.foreign)) for a, b in zip(of, to, strict=True) if figure(b)]
    quiet = [value for value, foreign in pairs if foreign <= QUIET_CORES]
    return statistics.median(quiet if len(quiet) >= ENOUGH else [value for value, _ in pairs])


def kept(slices: Sequence[Slice]) -> list[Slice]:
    """The slices without those in which other programs used much of the machine, if enough remain."""
    quiet = [each for each in slices if each.foreign <= QUIET_CORES]
    return quiet if len(quiet) >= ENOUGH else list(slices)


def show(title: str, results: Mapping[str, Sequence[Slice]], ours: str) -> None:
    """Print the rows, and the ratio of each to ours: by CPU per response, and by responses per second."""
    print(f"\n{title}\n  {'':<24}{'answers/s':>10}{'p50 ms':>8}{'p99 ms':>8}{'CPU us':>8}{'+ SQL us':>9}", end="")
    print(f"   {'ours: by CPU':>12}{'by rate':>9}{'quiet':>8}")
    for name, slices in results.items():
        used = kept(slices)
        rate, p50, p99, server, database = (
            statistics.median(getattr(each, figure) for each in used)
            for figure in ("rate", "p50", "p99", "server", "database")
        )
        by_cpu = ratio(slices, results[ours], lambda each: each.cpu)
        by_rate = ratio(results[ours], slices, lambda each: each.rate)
        quiet = sum(each.foreign <= QUIET_CORES for each in slices)
        bad = sum(each.bad for each in slices)
        print(
            f"  {name:<24}{rate:10,.0f}{p50 * 1e3:8.2f}{p99 * 1e3:8.2f}{server:8.0f}{database:9.0f}"
            f"   {by_cpu:12.2f}{by_rate:9.2f}{quiet:6}/{len(slices)}" + (f"   {bad} BAD ANSWERS" if bad else ""),
            flush=True,
        )
