"""Starting: the duration of commands, and the memory of an idle service."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time

from bench.service import data
from bench.service.bench import Bench
from bench.service.machine import cpu_seconds, family, memory_mib
from bench.service.processes import ROOT, service
from bench.service.scorecard import Scorecard

IDLE_SECONDS = 3.0


async def measure(bench: Bench, scores: Scorecard) -> None:
    folder = bench.folder / "start"
    folder.mkdir()
    dsn = await bench.database("start_ours")
    await data.migrate(dsn, folder)
    helps, readies, burnt, idle = [], [], [], []
    for number in range(bench.options.rounds + 1):
        took = await _help()
        began = time.perf_counter()
        async with service(folder / f"run{number}", dsn) as server:
            ready, cpu = time.perf_counter() - began, cpu_seconds(family(server.pid))
            if number == bench.options.rounds:
                await asyncio.sleep(IDLE_SECONDS)
                idle.append(memory_mib(family(server.pid)))
        if number:  # the first one fills the disk cache
            helps.append(took)
            readies.append(ready)
            burnt.append(cpu)
    print("\nstart, minimum and median of the rounds")
    for name, values in (("bookgen --help", helps), ("serve, ready", readies), ("serve, ready: CPU", burnt)):
        print(f"  {name:<22}{min(values):8.2f}{statistics.median(values):8.2f} s")
    scores.at_most("bookgen --help", statistics.median(helps), 0.3, "s")
    scores.at_most("serve ready on a warm database", statistics.median(readies), 1, "s")
    scores.at_most("idle memory", statistics.median(idle), 110, "MiB")


async def _help() -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bookgen", "--help",
        stdout=asyncio.subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    await process.wait()
    return time.perf_counter() - began
