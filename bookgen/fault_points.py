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
from dataclasses import dataclass
from functools import cache

VARIABLE = "CHAOS_FAULTS"

_passed: Counter[str] = Counter()


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


@cache
def _told() -> dict[str, Fault]:
    return parse(os.environ.get(VARIABLE, ""))


async def fault(name: str, key: object = None) -> None:
    """Passes the point of that name, and the one that carries the key as well."""
    if not _told():
        return
    for full in (name, f"{name}#{key}"):
        if told := _told().get(full):
            _passed[full] += 1
            if _passed[full] == told.nth or (told.onwards and _passed[full] > told.nth):
                await _act(told.action)
