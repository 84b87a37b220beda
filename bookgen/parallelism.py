"""How many things one process does at the same time: chapters, database connections and password threads."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    chapters_at_once: int
    run_connections: int
    http_connections: int
    password_threads: int


def for_this_machine(chapters_at_once: int | None, run_connections: int | None, http_connections: int | None) -> Sizes:
    """The sizes for one process. An argument that is None gets a default that depends on the number of cores.

    With the defaults, two processes can share a database server that allows 100 connections.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Sizes(
        chapters_at_once=chapters_at_once or min(32 * cores, 256),
        run_connections=run_connections or min(4 * cores, 16),
        http_connections=http_connections or min(8 * cores, 32),
        password_threads=min(max(cores - 1, 1), 2),  # leaves a core for everything else
    )
