"""CPU seconds and memory of processes, and the CPU seconds of all others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of the living threads of these processes, with nanosecond resolution."""
    spent = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError):
                    spent += int(path.read_text().split()[0])
    return spent / 1e9


def machine_seconds() -> float:
    """The CPU time used by the whole machine so far."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS_A_SECOND


def memory_mib(pids: Iterable[int]) -> float:
    """Resident memory in MiB. Shared memory is counted once."""
    kib = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024
