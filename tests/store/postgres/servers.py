"""Embedded servers for tests: of other processes, and on copies of a folder that was made once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bookgen.errors import StartupError
from bookgen.store.postgres import binaries

STARTER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from bookgen.store.postgres.embedded import EmbeddedPostgres

    async def main():
        print(await EmbeddedPostgres(Path(sys.argv[1])).start(), flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())
""")


async def begin(folder: Path) -> asyncio.subprocess.Process:
    """Another process that has been told to start the server of `folder`."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", STARTER, str(folder), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )


class Starter:
    """Another process that starts the server of `folder`, or joins it."""

    def __init__(self, process: asyncio.subprocess.Process, dsn: str) -> None:
        self.process = process
        self.dsn = dsn

    @classmethod
    async def on(cls, folder: Path) -> Starter:
        process = await begin(folder)
        assert process.stdout is not None
        return cls(process, (await process.stdout.readline()).decode().strip())

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


async def query(dsn: str, sql: str) -> Any:
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def copied(folder: Path, target: Path) -> Path:
    """A copy of a data folder whose server is stopped. It saves a test the initdb."""
    await asyncio.to_thread(subprocess.run, ["cp", "-a", str(folder), str(target)], check=True)
    return target


def an_older() -> tuple[Path, int] | None:
    """The programs of an installed version that is older than the one we use, with its number."""
    for version in range(binaries.major(binaries.find()) - 1, binaries.OLDEST - 1, -1):
        try:
            return binaries.choose(None, None, version, may_move=False).programs, version
        except StartupError:
            continue
    return None


OLDER = an_older()
needs_an_older = pytest.mark.skipif(OLDER is None, reason="needs an older PostgreSQL: apt-get install postgresql-15")
