"""A disk that fills up under the embedded database, on a small file system for one process."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from bookgen.errors import Unavailable
from bookgen.store.database import open_pool
from bookgen.store.postgres.sockets import address, socket_folder
from tests.chaos.process import Process
from tests.chaos.small_disk import on_a_small_disk
from tests.chaos.world import World, reopened

MB = 1 << 20
DISK = 400 * MB
LEAST_FREE = 150 * MB
SERVE = f"""
import asyncio
from bookgen import config
from bookgen.app.serve import serve
asyncio.run(serve(config.load(), least_free={LEAST_FREE}))
"""


@dataclass
class Disk:
    """The file system of a process, seen from outside its namespace."""

    folder: Path

    def leave(self, free: int) -> None:
        with (self.folder / "filler").open("ab") as file:
            while (room := shutil.disk_usage(self.folder).free - free) > 0:
                try:
                    file.write(b"\0" * min(room, MB))
                    file.flush()
                except OSError:
                    return

    def make_room(self) -> None:
        (self.folder / "filler").unlink()


@dataclass
class Full:
    process: Process
    disk: Disk
    dsn: str


@pytest.fixture
async def service(world: World) -> AsyncIterator[Full]:
    """`bookgen serve` with its data folder on the small disk, and the world's pool connected to its database."""
    data = world.folder / "data"
    data.mkdir()
    command = on_a_small_disk(data, DISK, [sys.executable, "-c", SERVE])
    process = await world.serve(command=command, BOOKGEN_DATABASE_URL="", BOOKGEN_DATA_DIR=str(data))
    inside = Path(f"/proc/{process.pid}/root{data}")
    password = quote((inside / "pg.password").read_text().strip())
    socket = address(socket_folder(inside))
    dsn = f"postgresql://bookgen:{password}@/postgres?host={socket}&port=5432"
    world.pool = await open_pool(dsn, size=3)
    yield Full(process, Disk(inside), dsn)
    world.pool.terminate()
    await process.close()


@pytest.mark.long
@pytest.mark.small_disk
async def test_an_almost_full_disk_refuses_new_books_and_lets_running_ones_finish(world: World, service: Full) -> None:
    process, disk = service.process, service.disk
    author, other = await world.author(), await world.author()
    going, refused = await world.book(author), await world.book(other)
    world.model.configure(delay=0.5)
    await world.generate(process, author, going)
    await world.model.arrived(1)

    disk.leave(LEAST_FREE - 20 * MB)

    code, body = await world.generate(process, other, refused)
    assert (code, body["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "almost full" in body["error"]["message"]
    assert await world.readiness(process) == "read-only"
    assert (await world.call(process, other, "GET", f"/books/{refused}/"))[0] == 200
    await world.until_status(going, "completed")
    disk.make_room()
    assert await world.readiness(process) == "ready"
    assert (await world.generate(process, other, refused))[0] == 202
    await world.until_status(refused, "completed")
    await world.check()


@pytest.mark.long
@pytest.mark.small_disk
@pytest.mark.timeout(300)
async def test_a_full_disk_fails_no_run_and_recovers_when_there_is_space(world: World, service: Full) -> None:
    process, disk = service.process, service.disk
    author = await world.author()
    book = await world.book(author, chapters=6, words=1500)
    await world.generate(process, author, book)
    await world.until_done(book, 1)

    disk.leave(0)

    await process.said("database_lost")
    asked = len(world.model.requests)
    for _ in range(15):
        assert (await world.call(process, author, "GET", f"/books/{book}/"))[0] == 200
        await asyncio.sleep(1)
    assert "cannot be reached" in await world.readiness(process)
    assert len(world.model.requests) == asked
    assert process.log.count("database_lost") == 1
    disk.make_room()
    await world.until_status(book, "completed", seconds=120)
    assert world.repeated_calls() == 0
    await world.check()


@pytest.mark.long
@pytest.mark.small_disk
@pytest.mark.timeout(300)
async def test_a_server_stopped_by_a_full_disk_comes_back_when_there_is_space(world: World, service: Full) -> None:
    process, disk = service.process, service.disk
    author = await world.author()
    book = await world.book(author, chapters=6, words=1500)
    await world.generate(process, author, book)
    await world.until_done(book, 1)
    disk.leave(0)

    with pytest.raises(Unavailable):
        await fill_the_log(world)

    await process.said('No space left on device.*"event":"postgres_not_started"')
    assert not process.dead
    assert (disk.folder / "postgres.log").read_text().count("starting PostgreSQL") < 10
    disk.make_room()
    world.pool.terminate()
    world.pool = await reopened(service.dsn)
    await world.until_status(book, "completed", seconds=120)
    assert world.repeated_calls() == 0
    await world.check()


async def fill_the_log(world: World) -> None:
    """Write until the server has no space for its write-ahead log, which makes it stop."""
    while True:
        await world.pool.execute("SELECT pg_logical_emit_message(true, 'fill', repeat('x', 100000))")
