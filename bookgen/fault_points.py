"""Named points in the code at which the chaos tests cause faults. Without `CHAOS_FAULTS`, the points do nothing.

`CHAOS_FAULTS="checkpoint.before:kill@3, accept.after:raise"` kills the process, as `kill -9` does, when it passes the
point `checkpoint.before` for the third time, and raises an exception when it first passes `accept.after`. With a plus
sign, as in `kill@3+`, the fault also happens at every later pass. A point can have a key, such as a book's id:
`checkpoint.before#7:kill` acts for book 7 only.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache

VARIABLE = "CHAOS_FAULTS"

_passed: Counter[str] = Counter()


class Injected(Exception):
    """Raised by a fault point whose action is `raise`."""


@dataclass(frozen=True, slots=True)
class Fault:
    action: str
    nth: int
    onwards: bool


def parse(text: str) -> dict[str, Fault]:
    """Parse the value of CHAOS_FAULTS into the faults, by the names of their points."""
    faults = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        point, _, rest = entry.partition(":")
        action, _, when = rest.partition("@")
        faults[point] = Fault(action, int(when.rstrip("+") or 1), when.endswith("+"))
    return faults


async def _act(action: str) -> None:
    name, _, seconds = action.partition("=")
    match name:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "freeze":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "raise":
            raise Injected
        case "block":
            time.sleep(float(seconds))  # noqa: ASYNC251 (the loop is to be blocked)
        case "sleep":
            await asyncio.sleep(float(seconds))
        case _:
            raise ValueError(action)


@cache
def _configured() -> dict[str, Fault]:
    return parse(os.environ.get(VARIABLE, ""))


async def fault(name: str, key: object = None) -> None:
    """Mark a point in the code. If CHAOS_FAULTS has a fault for `name` or for `name#key`, it happens here."""
    if not _configured():
        return
    for full in (name, f"{name}#{key}"):
        if found := _configured().get(full):
            _passed[full] += 1
            if _passed[full] == found.nth or (found.onwards and _passed[full] > found.nth):
                await _act(found.action)
