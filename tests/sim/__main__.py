"""Simulates schedules from seeds, and says of each that fails how to see it again: `python -m tests.sim --help`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter

from tests.sim.cluster import cluster
from tests.sim.schedule import ScheduleVerdict
from tests.sim.shrinking import fewest_faults
from tests.sim.workers import Workers


def main() -> int:
    chosen = _arguments().parse_args()
    failed, happened, began = 0, Counter[str](), time.perf_counter()
    seeds = range(chosen.seed, chosen.seed + chosen.schedules)
    with cluster() as dsn, Workers(dsn, chosen.workers) as workers:
        for verdict in workers.run(seeds, chosen.faults, chosen.tell):
            if chosen.twice and (again := workers.run_one(verdict.seed, chosen.faults)).trace != verdict.trace:
                verdict.findings.append(f"the same seed went another way: {verdict.trace}, then {again.trace}")
            _show(verdict, chosen.verbose or chosen.tell)
            if verdict.findings and not chosen.tell:
                _explain(verdict, fewest_faults(workers, verdict) if chosen.faults is None else None)
            failed += bool(verdict.findings)
            happened += verdict.happened
    if chosen.table:
        for what, times in sorted(happened.items()):
            print(f"{times:8} {what}")
    print(f"{len(seeds)} schedules in {time.perf_counter() - began:.0f} s, {failed} failed")
    return 1 if failed else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes that run schedules")
    parser.add_argument("--faults", type=_numbers, help="only these of a seed's faults, by their numbers: 0,3")
    parser.add_argument("--twice", action="store_true", help="run each seed twice, which must be the same")
    parser.add_argument("--tell", action="store_true", help="print everything that happens")
    parser.add_argument("--table", action="store_true", help="print how often what happened")
    parser.add_argument("--verbose", action="store_true", help="a line for each schedule")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


def _show(verdict: ScheduleVerdict, verbose: bool) -> None:
    for line in verdict.lines:
        print(line)
    if verbose or verdict.findings:
        print(
            f"seed {verdict.seed}: {verdict.virtual_seconds:.0f} s, {verdict.statements} statements, "
            f"{verdict.calls} calls, {verdict.completed} runs completed, {len(verdict.faults)} faults, "
            f"trace {verdict.trace}"
        )
    for finding in verdict.findings:
        print(f"    {finding}")
    sys.stdout.flush()


def _explain(verdict: ScheduleVerdict, faults: list[int] | None) -> None:
    """The faults that it takes, the commit, and the line that shows it again."""
    for number in faults or []:
        print(f"    fault {number}: {verdict.faults[number]}")
    only = "" if faults is None else f" --faults {','.join(map(str, faults)) or ','}"
    print(f"    at {_commit()}: python -m tests.sim --tell --seed {verdict.seed}{only}", flush=True)


def _commit() -> str:
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "an unknown commit"


if __name__ == "__main__":
    sys.exit(main())
