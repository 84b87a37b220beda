"""Events that must happen sometimes over many schedules, as evidence that the simulation tries them."""

from __future__ import annotations

from collections import Counter

from tests.sim.nemesis import AIMS, CUT_AFTER, CUT_BEFORE, LATE, POINTS, SQLSTATES

COMMANDS = ("Generate", "Pause", "Resume", "Stop")
STATES = ("none", "queued", "running", "paused", "stopped", "completed", "error")
OUTRIGHT = (
    "kill",
    "freeze",
    "partition",
    "drain whole",
    "drain killed",
    "restart",
    "failover",
    "clock",
    "disk",
    "migrate",
    "deaf",
)
LOCKED = ("account_slot", "run", "process")
DONE = ("edit done", "report done", "RewriteChapter done", "ReworkChapters done", "DraftOutline done")

EXPECTED = (
    *OUTRIGHT,
    *(f"lock {table}" for table in LOCKED),
    *(f"point {point}" for point in POINTS),
    *(f"{how} at {point}" for point in POINTS for how in ("kill", "freeze")),
    *(f"strike {aim}" for aim in AIMS),
    *(f"strike {how}" for how in (CUT_BEFORE, CUT_AFTER, LATE, *SQLSTATES)),
    *(f"{command} when {state}" for command in COMMANDS for state in STATES),
    *(f"{command} answered" for command in COMMANDS),
    *DONE,
)


def table(happened: Counter[str]) -> list[str]:
    """How often each event happened, the rarest first."""
    return [f"{happened[what]:8} {what}" for what in sorted(EXPECTED, key=lambda what: (happened[what], what))]


def never(happened: Counter[str]) -> list[str]:
    """The expected events that never happened."""
    return [what for what in EXPECTED if not happened[what]]
