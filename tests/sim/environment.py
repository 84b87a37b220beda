"""The machine as the processes see it: simulated clocks, random numbers, process ids and logs."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest import mock

import structlog
from asyncpg import connect_utils

import bookgen.actors.actor
import bookgen.actors.lease
from tests.sim.loop import SimulatedLoop
from tests.sim.postgres import EPOCH


class Machine:
    """One machine for all processes, or one for each, so that no process can see that another has ended."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared
        self.living: set[int] = set()

    def read(self, path: str) -> str:
        """Replaces the files by which a process identifies its machine and the other processes on it."""
        if path.startswith("/proc/sys/"):
            return "machine" if self.shared else f"machine {os.getpid()}"
        pid = int(path.split("/")[2])
        return f"{pid} (bookgen) S {' '.join(['0'] * 18)} {pid}000" if pid in self.living else ""


@contextlib.contextmanager
def simulated(
    loop: SimulatedLoop, seed: str, machine: Machine, pid: Callable[[], int], heard: Callable[[dict[str, Any]], None]
) -> Iterator[None]:
    """`heard` is called with every log entry."""
    chance = random.Random(f"{seed} entropy")
    random.seed(seed)

    def processor(_logger: Any, level: str, entry: dict[str, Any]) -> Any:
        heard(entry | {"level": level})
        raise structlog.DropEvent

    structlog.configure(processors=[processor])
    with (
        mock.patch.object(time, "monotonic", loop.time),
        mock.patch.object(time, "time", lambda: EPOCH + loop.time()),  # noqa: PT008 (it changes)
        mock.patch.object(os, "urandom", chance.randbytes),
        mock.patch.object(os, "getpid", pid),
        mock.patch.object(bookgen.actors.lease, "_read", machine.read),
        mock.patch.object(connect_utils, "_parse_connect_arguments", _parsed),
        mock.patch.object(
            bookgen.actors.actor, "_running", set()
        ),  # otherwise it would keep what a killed process was doing
    ):
        yield
    structlog.configure(processors=[_drop])  # whatever ends now was killed before


def _drop(*_: Any) -> Any:
    raise structlog.DropEvent


def _parsed(**arguments: Any) -> Any:
    """asyncpg reads files and the environment for each connection; here they are always the same."""
    asked = repr(arguments)
    if asked not in _known:
        _known[asked] = _parse(**arguments)
    return _known[asked]


_parse = connect_utils._parse_connect_arguments
_known: dict[str, Any] = {}


@contextlib.contextmanager
def at_every_fault_point(point: Callable[[str, object], Any]) -> Iterator[None]:
    """Call `point` at every fault point of the product."""
    modules: list[Any] = [sys.modules[name] for name in _with_fault_points()]
    former = [module.fault for module in modules]
    for module in modules:
        module.fault = point
    try:
        yield
    finally:
        for module, fault in zip(modules, former, strict=True):
            module.fault = fault


@cache
def _with_fault_points() -> list[str]:
    return [
        name for name, module in sys.modules.items()
        if name.startswith("bookgen.") and hasattr(module, "fault") and name != "bookgen.fault_points"
    ]  # fmt: skip
