"""Simulates schedules from seeds, and prints how to reproduce each failure: `python -m tests.sim --help`."""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.sim.cluster import cluster
from tests.sim.planted import PLANTED
from tests.sim.schedule import ScheduleVerdict
from tests.sim.shrinking import fewest_faults
from tests.sim.sometimes import never, table
from tests.sim.workers import Workers

ENOUGH, ENOUGH_SHORT = 1000, 20_000  # the number of schedules within which everything should happen


def main() -> int:
    chosen = _arguments().parse_args()
    return _hunt(chosen) if chosen.planted else _simulate(chosen)


def _hunt(chosen: argparse.Namespace) -> int:
    bugs = [bug.name for bug in PLANTED if chosen.planted == "all" or re.search(chosen.planted, bug.name)]
    missed = 0
    with _workers(chosen) as workers:
        for hunt in workers.hunt(bugs, chosen.seed, chosen.schedules):
            found = f"{hunt.schedules:5}" if hunt.finding else "    –"
            print(f"{found} {hunt.bug}: {(hunt.finding or 'not found')[:150]}", flush=True)
            missed += hunt.finding is None
    print(f"{len(bugs) - missed} of {len(bugs)} planted bugs found within {chosen.schedules} schedules each")
    return 1 if missed else 0


def _simulate(chosen: argparse.Namespace) -> int:
    failed: list[ScheduleVerdict] = []
    happened, began = Counter[str](), time.perf_counter()
    seeds = range(chosen.seed, chosen.seed + chosen.schedules)
    with _workers(chosen) as workers:
        for verdict in workers.run(seeds, chosen.faults, chosen.tell):
            if chosen.twice and (again := workers.run_one(verdict.seed, chosen.faults)).trace != verdict.trace:
                verdict.findings.append(f"the same seed went another way: {verdict.trace}, then {again.trace}")
            _show(verdict, chosen.verbose or chosen.tell)
            failed += [verdict] if verdict.findings else []
            happened += verdict.happened
        for verdict in failed if chosen.faults is None else ():
            _explain(verdict, fewest_faults(workers, verdict), _variant(chosen))
    if chosen.table:
        print("\n".join(table(happened)))
    print(f"{len(seeds)} schedules in {time.perf_counter() - began:.0f} s, {len(failed)} failed")
    enough = ENOUGH_SHORT if chosen.short else ENOUGH
    missing = never(happened) if len(seeds) >= enough else []
    if missing:
        print(f"Never happened: {', '.join(missing)}.")
    return 1 if failed or missing else 0


@contextlib.contextmanager
def _workers(chosen: argparse.Namespace) -> Iterator[Workers]:
    with cluster(chosen.postgres) as dsn, Workers(dsn, chosen.workers, short=chosen.short) as workers:
        yield workers


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes that run schedules")
    parser.add_argument("--faults", type=_numbers, help="only these of a seed's faults, by their numbers: 0,3")
    parser.add_argument(
        "--planted", help="planted bugs that are to be found: an expression that their names match, or all"
    )
    parser.add_argument("--short", action="store_true", help="schedules of 8 seconds in place of 75, and fewer books")
    parser.add_argument("--postgres", type=Path, help="a folder with the programs of another PostgreSQL")
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


def _variant(chosen: argparse.Namespace) -> str:
    """The options that reproduce a seed."""
    flags = " --short" if chosen.short else ""
    return f"{flags} --postgres {chosen.postgres}" if chosen.postgres else flags


def _explain(verdict: ScheduleVerdict, faults: list[int], variant: str) -> None:
    """Print the faults needed, the commit, and the command that reproduces the failure."""
    print(f"seed {verdict.seed} at {_commit()}: {verdict.findings[0]}")
    for number in faults:
        print(f"    fault {number}: {verdict.faults[number]}")
    chosen = ",".join(map(str, faults)) or ","
    print(f"    python -m tests.sim{variant} --tell --seed {verdict.seed} --faults {chosen}", flush=True)


def _commit() -> str:
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "an unknown commit"


if __name__ == "__main__":
    sys.exit(main())
