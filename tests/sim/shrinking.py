"""Of the faults of a schedule that fails, those that it takes."""

from __future__ import annotations

from tests.sim.schedule import ScheduleVerdict
from tests.sim.workers import Workers


def fewest_faults(workers: Workers, failed: ScheduleVerdict) -> list[int]:
    """Drops one fault after another for as long as the schedule still fails; the numbers of those that are left."""
    kept = list(range(len(failed.faults)))
    for number in reversed(range(len(failed.faults))):
        fewer = [each for each in kept if each != number]
        if workers.run_one(failed.seed, fewer).findings:
            kept = fewer
    return kept
