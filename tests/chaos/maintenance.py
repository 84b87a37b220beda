"""Data folders of services that were killed with books in flight, and commands on them that are killed too."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bookgen.store.database import open_pool
from bookgen.store.postgres import roles, sockets
from bookgen.store.postgres.clusters import dsn_of
from tests.chaos.process import Process
from tests.chaos.world import INVARIANTS, World
from tests.programs import Program

BOOKS, CHAPTERS = 50, 3
PASSPHRASE = {"BOOKGEN_BACKUP_PASSPHRASE": "a grey weighbridge in the rain"}
TEXTS = "SELECT book_id, chapter_number, md5(content) AS text FROM chapter WHERE content <> ''"
COMMITTED = "SELECT count(*) >= $1 FROM chapter WHERE content <> ''"
ENDED_SECONDS = 120.0
Texts = Mapping[tuple[int, int], str]


@dataclass
class DataFolder:
    """A data folder with an embedded database, and the world that it belongs to. `settings`: those of its service."""

    world: World
    data: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {"BOOKGEN_DATABASE_URL": "", "BOOKGEN_DATA_DIR": str(self.data), **PASSPHRASE, **self.settings}

    async def serve(self, *, wait: bool = True) -> Process:
        return await self.world.serve(wait=wait, **self.environment)

    async def command(self, *arguments: str) -> Program:
        """`bookgen ARGUMENTS`, whose output goes to a file beside the folder."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BOOKGEN_")}
        with self.log.open("ab") as log:
            return await Program.start(
                arguments,
                folder=self.data.parent,
                environment=inherited | self.world.settings() | self.environment,
                out=log.fileno(),
                err=log.fileno(),
            )

    async def run(self, *arguments: str) -> int:
        return await (await self.command(*arguments)).wait()

    @property
    def log(self) -> Path:
        return self.data.parent / f"{self.data.name}-commands.log"

    async def open(self) -> None:
        """Let the world's pool be of this folder's database, whose server is running."""
        password = (self.data / "pg.password").read_text().strip()
        dsn = dsn_of(roles.SUPERUSER, password, sockets.address(sockets.socket_folder(self.data)))
        self.world.pool = await open_pool(dsn, size=3)

    async def begin_books(self) -> Texts:
        """Serve until fifty books are in flight and some chapters are finished. Then kill the service."""
        process = await self.serve()
        await self.open()
        await self.world.pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
        for _ in range(BOOKS):
            author = await self.world.author()
            book = await self.world.book(author, CHAPTERS)
            assert (await self.world.generate(process, author, book))[0] == 202
        await self.world.until(COMMITTED, BOOKS // 2)
        texts = await self.texts()
        await self.world.kill(process)
        self.world.pool.terminate()
        await self.until_stopped()
        return texts

    async def until_stopped(self) -> None:
        """Wait until the folder's server has ended. It does so by itself once its service is dead."""
        async with asyncio.timeout(ENDED_SECONDS):
            while any(map(_alive, self.data.glob("pg*/postmaster.pid"))):  # noqa: ASYNC110 (the signal is a file)
                await asyncio.sleep(0.02)

    async def texts(self) -> Texts:
        found = await self.world.pool.fetch(TEXTS)
        return {(row["book_id"], row["chapter_number"]): row["text"] for row in found}

    async def finish_books(self, begun: Texts) -> int:
        """Serve until all books are finished. Nothing that was finished before has changed. Returns their number."""
        process = await self.serve()
        await self.open()
        await self.world.until("SELECT NOT EXISTS (SELECT FROM run WHERE status <> 'completed')", seconds=600)
        texts = await self.texts()
        books: int = await self.world.value("SELECT count(*) FROM run WHERE status = 'completed'")
        assert {place: texts.get(place) for place in begun} == begun
        assert len(texts) == books * CHAPTERS
        await self.world.check_rows(INVARIANTS)
        await process.stop()
        self.world.pool.terminate()
        return books


@dataclass
class Killer:
    """Kills a process at a moment that nobody chose, or the database server under it. Counts what it did."""

    dice: random.Random
    seconds: float = 0.0
    hits: Counter[str] = field(default_factory=Counter)

    @property
    def kills(self) -> int:
        return self.hits.total()

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        """Take the time of an attempt that is left alone. The moments of later ones are within it."""
        began = time.monotonic()
        yield
        self.seconds = time.monotonic() - began

    async def end(self, process: Program, data: Path) -> int:
        """Returns the exit code, which is 0 if the process was done before its moment came."""
        ended = asyncio.ensure_future(process.wait())
        await asyncio.wait({ended}, timeout=self.dice.uniform(0, self.seconds))
        if not ended.done():
            self._strike(process.pid, data)
        async with asyncio.timeout(ENDED_SECONDS):
            return await ended

    async def end_service(self, process: Process, data: Path) -> bool:
        """Returns whether the service was ready before its moment came. In the end it is dead."""
        ready = asyncio.ensure_future(process.until_ready())
        await asyncio.wait({ready}, timeout=self.dice.uniform(0, self.seconds))
        if not ready.done():
            self._strike(process.pid, data)
            await asyncio.wait({ready}, timeout=ENDED_SECONDS)
        was_ready = ready.done() and ready.exception() is None
        ready.cancel()
        if not process.dead:
            await process.kill()
        return was_ready

    def _strike(self, pid: int, data: Path) -> None:
        victims = {each.parent.name: number for each in data.glob("pg*/postmaster.pid") if (number := _alive(each))}
        victims["the process"] = pid
        victim = min(sorted(victims), key=self.hits.__getitem__)  # as often as the others
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(victims[victim], signal.SIGKILL)
            self.hits[victim] += 1

    def figures(self) -> str:
        """The kills, of a server by the folder of its cluster."""
        return f"{self.kills} kills ({', '.join(f'{number} of {victim}' for victim, number in self.hits.items())})"


def _alive(pid_file: Path) -> int | None:
    """The number of the server whose file this is, if it runs. A killed server leaves its file."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        pid = int(pid_file.read_text().split()[0])
        return pid if Path(f"/proc/{pid}/cwd").samefile(pid_file.parent) else None
    return None
