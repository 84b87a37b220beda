"""A disk that fills up during a backup, a restore and a move to a newer PostgreSQL. Then there is room again.

With `CHAOS=all` the disk fills up `CHAOS_KILLS` times, at amounts of room that nobody chose, while fifty books wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from bookgen.store.postgres.embedded import EmbeddedPostgres
from tests.chaos.maintenance import BOOKS, CHAPTERS, COMMITTED, PASSPHRASE, DataFolder
from tests.chaos.process import Process
from tests.chaos.small_disk import on_a_small_disk
from tests.chaos.world import INVARIANTS, World
from tests.store.postgres.servers import OLDER, needs_an_older

pytestmark = [pytest.mark.small_disk, pytest.mark.timeout(7200)]
MB = 1 << 20
DISK = 400 * MB
ALL = os.environ.get("CHAOS") == "all"
ADD_PICTURE = """
    INSERT INTO media (key, book_id, body, width, height)
    SELECT $1, (SELECT min(id) FROM book), $2, 1024, 1024
"""
# The server says so, or can't even write its log and ends.
FULL = ("No space left on device", "The disk is full.", " MB free.")
PICTURES = 24 if ALL else 8  # of a megabyte each, which nothing can compress


@pytest.fixture
def books() -> int:
    return BOOKS if ALL else 2


@pytest.fixture
def rooms(dice: random.Random, kills: int) -> list[int]:
    """The megabytes that are left on the disk, one attempt each: too few for all pictures."""
    return [dice.randrange(PICTURES - 4) for _ in range(kills if ALL else 1)]


async def add_pictures(pool: asyncpg.Pool) -> None:
    for number in range(PICTURES):
        await pool.execute(ADD_PICTURE, f"{number:040x}", os.urandom(MB))


# Each attempt prints a line of JSON: the room, the exit code, what was said, and what is in the folder afterwards.
ATTEMPTS = """
import json, os, subprocess, sys
from pathlib import Path

disk, rooms, command, first, last = Path(sys.argv[1]), *map(json.loads, sys.argv[2:4]), *sys.argv[4:]
subprocess.run(["cp", "-a", f"{first}/.", disk], check=True)
filler = disk / "filler"

def attempt(room):
    done = subprocess.run(command, capture_output=True, text=True)
    found = sorted(path.name for path in disk.iterdir())
    said = done.stderr + done.stdout
    print(json.dumps({"room": room, "code": done.returncode, "said": said, "found": found}), flush=True)

for room in rooms:
    with filler.open("wb") as file:
        while (left := os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - (room << 20)) > 0:
            try:
                file.write(bytes(min(left, 1 << 20)))
                file.flush()
            except OSError:
                break
    attempt(room)
    filler.unlink()
attempt(None)
subprocess.run(["cp", "-a", f"{disk}/.", last], check=True)
"""


@dataclass(frozen=True)
class DiskAttempt:
    """`room`: the megabytes that were left on the disk; None if it was not filled. `found`: what was there after it."""

    room: int | None
    code: int
    said: str
    found: list[str]


@dataclass
class SmallDisk:
    """A folder that is a disk of its own for the commands. `first` and `last` are its content before and after them."""

    folder: Path
    first: Path
    last: Path

    @classmethod
    def in_folder(cls, folder: Path, first: Path | None = None) -> SmallDisk:
        disk = cls(folder / "disk", first or folder / "empty", folder / "last")
        for each in (disk.folder, disk.first, disk.last):
            each.mkdir(exist_ok=True)
        return disk

    async def attempts(self, rooms: Sequence[int], environment: Mapping[str, str], *command: str) -> list[DiskAttempt]:
        """Run `bookgen COMMAND` once for each of `rooms`, and at last with the whole disk."""
        bookgen = [sys.executable, "-m", "bookgen", *command]
        script = [sys.executable, "-c", ATTEMPTS, str(self.folder), json.dumps(rooms), json.dumps(bookgen)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BOOKGEN_")}
        process = await asyncio.create_subprocess_exec(
            *on_a_small_disk(self.folder, DISK, [*script, str(self.first), str(self.last)]),
            env=inherited | {"PYTHONPATH": str(Path(__file__).parents[2])} | dict(environment),
            stdout=asyncio.subprocess.PIPE,
        )
        said = (await process.communicate())[0].decode()
        assert process.returncode == 0, said
        return [DiskAttempt(**json.loads(line)) for line in said.splitlines()]


@pytest.mark.parametrize("of", ["the file", "the drill"])
async def test_a_disk_that_fills_up_during_a_backup_leaves_no_file_and_books_go_on(
    world: World, tmp_path: Path, rooms: list[int], books: int, of: str
) -> None:
    disk = SmallDisk.in_folder(tmp_path)
    folder, file = (world.folder / "data", disk.folder) if of == "the file" else (disk.folder, tmp_path)
    world.model.configure(delay=0.4)
    process = await world.serve()
    await begin(world, process, books)
    await add_pictures(world.pool)

    *full, last = await disk.attempts(
        rooms,
        world.settings() | PASSPHRASE | {"BOOKGEN_DATA_DIR": str(folder)},
        "backup", str(file / "books.backup"),
    )  # fmt: skip

    for each in full:
        assert each.code != 0, each
        (line,) = each.said.splitlines()
        assert re.search("[Dd]isk is full|No space left", line)
        assert each.found == ["filler"], each
        print(f"backup, {each.room} MB left for {of}: {line}", flush=True)
    assert last.code == 0, last.said
    assert "Verified by a trial restore in" in last.said
    await world.until("SELECT NOT EXISTS (SELECT FROM run WHERE status <> 'completed')", seconds=600)
    await world.check_rows(INVARIANTS)
    print(f"backup: {len(full)} full disks of {of}; {books} books finished, no chapter lost")


async def test_a_disk_that_fills_up_during_a_restore_leaves_the_target_as_it_was(
    world: World, tmp_path: Path, rooms: list[int], books: int
) -> None:
    source, file = DataFolder(world, tmp_path / "source"), tmp_path / "books.backup"
    world.model.configure(delay=0.4)
    process = await source.serve()
    await source.open()
    await begin(world, process, books)
    await add_pictures(world.pool)
    texts = await source.texts()
    await world.kill(process)
    world.pool.terminate()
    assert await source.run("backup", str(file), "--no-drill") == 0
    empty = EmbeddedPostgres(tmp_path / "first")
    await empty.start()
    await empty.stop()
    disk = SmallDisk.in_folder(tmp_path, tmp_path / "first")
    before = sorted(path.name for path in disk.first.iterdir())

    target = DataFolder(world, disk.folder)
    *full, last = await disk.attempts(rooms, world.settings() | target.environment, "restore", str(file))

    for each in full:
        assert each.code != 0, each
        (line,) = each.said.splitlines()
        assert any(reason in line for reason in FULL), each
        assert each.found == sorted([*before, "filler"]), each
        print(f"restore, {each.room} MB left: {line}", flush=True)
    assert last.code == 0, last.said
    restored = DataFolder(world, disk.last)
    assert await restored.run("runs", "resume", "--all") == 0
    assert await restored.finish_books(texts) == books
    print(f"restore: {len(full)} full disks; {books} books finished, no chapter lost")


async def begin(world: World, process: Process, books: int) -> None:
    """Have books written until some chapters are finished."""
    for _ in range(books):
        author = await world.author()
        book = await world.book(author, CHAPTERS)
        assert (await world.generate(process, author, book))[0] == 202
    await world.until(COMMITTED, books // 2)


OPEN = """
import asyncio
from bookgen import config
from bookgen.app.database import open_database

async def main():
    async with open_database(config.load(), create=True):
        print("open", flush=True)

asyncio.run(main())
"""
# The disk fills up once the move has begun. Then there is room again.
FILLED = """
cp -a "$1/." "$2"
"$3" -c "$4" 2>"$5" & pid=$!
until [ -e "$2"/move-*/database.dump ]; do :; done
kill -STOP $pid
cat /dev/zero > "$2/filler" 2>/dev/null
kill -CONT $pid
wait $pid; echo "code $?"
ls -d "$2"/pg[0-9]* "$2"/move-* 2>/dev/null
rm "$2/filler"
"$3" -c "$4" && ls -d "$2"/pg[0-9]*
"""


@needs_an_older
@pytest.mark.small_disk
async def test_a_disk_that_fills_up_during_a_move_leaves_the_older_database(tmp_path: Path, world: World) -> None:
    assert OLDER is not None
    server = EmbeddedPostgres(tmp_path / "former", OLDER[0])
    await server.start()
    await server.stop()
    data, said = tmp_path / "data", tmp_path / "said"
    data.mkdir()
    script = ["sh", "-c", FILLED, "sh", str(tmp_path / "former"), str(data), sys.executable, OPEN, str(said)]
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **world.settings(), "BOOKGEN_DATABASE_URL": "",
                   "BOOKGEN_DATA_DIR": str(data), "PYTHONPATH": str(Path(__file__).parents[2])}  # fmt: skip

    done = await asyncio.create_subprocess_exec(
        *on_a_small_disk(data, 260 << 20, script), env=environment, stdout=asyncio.subprocess.PIPE
    )
    lines = (await done.communicate())[0].decode().splitlines()
    told = [line for line in lines if line.startswith(("code", "open", str(data)))]  # and no line of the log

    assert "could not be moved" in said.read_text()
    assert told[:2] == ["code 1", f"{data}/pg{OLDER[1]}"]
    assert told[2:] == ["open", f"{data}/pg{OLDER[1]}", told[-1]]
    assert len(told) == 5
