"""Finds the faults that a failing schedule needs."""

from __future__ import annotations

from tests.sim.schedule import ScheduleVerdict
from tests.sim.workers import Workers


def fewest_faults(workers: Workers, failed: ScheduleVerdict) -> list[int]:
    """Drop one fault after another while the schedule still fails. Returns the numbers of the rest."""
    kept = list(range(len(failed.faults)))
    for number in reversed(range(len(failed.faults))):
        fewer = [each for each in kept if each != number]
        if workers.run_one(failed.seed, fewer).findings:
            kept = fewer
    return kept
