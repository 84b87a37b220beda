"""Named points at which the chaos tests make things go wrong. Without `CHAOS_FAULTS` they do nothing.

`CHAOS_FAULTS="checkpoint.before:kill@3, accept.after:raise"`: the third time the first point is passed the
process is killed as by `kill -9`; the first time the second is passed an exception is raised. `name:action@n+`
fires from the n-th time on. A point can carry a key, such as a book: `checkpoint.before#7:kill` fires for book 7.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

VARIABLE = "CHAOS_FAULTS"


class Injected(Exception):
    """A fault point was told to raise."""


@dataclass(frozen=True, slots=True)
class Fault:
    action: str
    nth: int
    onwards: bool


def parse(text: str) -> dict[str, Fault]:
    """The faults that `text` names, by point."""
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
            time.sleep(float(seconds))  # noqa: ASYNC251 (the loop is to stand still)
        case "sleep":
            await asyncio.sleep(float(seconds))
        case _:
            raise ValueError(action)


def _armed(faults: dict[str, Fault]) -> Callable[[str, object], Awaitable[None]]:
    passed: Counter[str] = Counter()

    async def point(name: str, key: object = None) -> None:
        for full in (name, f"{name}#{key}"):
            if fault := faults.get(full):
                passed[full] += 1
                if passed[full] == fault.nth or (fault.onwards and passed[full] > fault.nth):
                    await _act(fault.action)

    return point


async def _nothing(name: str, key: object = None) -> None:
    pass


fault: Callable[[str, object], Awaitable[None]]
fault = _armed(parse(os.environ[VARIABLE])) if VARIABLE in os.environ else _nothing
