"""What every row of the bench gets: the options, a folder, and the bench's own PostgreSQL."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.service import data


@dataclass(frozen=True, slots=True)
class Bench:
    """One run of the bench."""

    options: argparse.Namespace
    folder: Path
    superuser_dsn: str
    postmaster: int  # the process of the PostgreSQL server

    async def database(self, name: str) -> str:
        """The DSN of a new, empty database."""
        return await data.database(self.superuser_dsn, name)
