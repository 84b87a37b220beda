"""Kills during a backup, a restore, a migration and a move to a newer PostgreSQL: no chapter is lost, and runs go on.

`CHAOS_KILLS` kills are made in each. What was begun is begun again and again, until one attempt is left alone.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path

import asyncpg
import pytest

from bookgen.commands.backup_file import verify
from bookgen.store.postgres.embedded import EmbeddedPostgres
from tests.chaos.calls import HeardCalls
from tests.chaos.maintenance import BOOKS, PASSPHRASE, DataFolder, Killer
from tests.chaos.traffic import Traffic
from tests.chaos.world import WILL_SURVIVE, World
from tests.store.postgres.servers import OLDER, copied, needs_an_older
from tests.store.test_released_schemas import OF_ADA, SCHEMAS

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]
SECRET = PASSPHRASE["BOOKGEN_BACKUP_PASSPHRASE"]
CUT_OFF = """
    SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity
     WHERE datname = current_database() AND query ~ '^(COPY|LOCK TABLE) '
"""


async def test_kills_during_backups_leave_no_half_file_and_books_go_on(
    world: World, dice: random.Random, kills: int
) -> None:
    """Of the command, of the service that writes the books, and of the command's connection to the database."""
    world.model.configure(delay=0.4)
    await world.pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
    traffic = Traffic(world, dice, [await world.author() for _ in range(BOOKS)], chapters=3, calls=HeardCalls(world))
    process = await world.serve()
    traffic.meet(process)
    await traffic.start()
    authors = asyncio.ensure_future(traffic.run())
    folder = DataFolder(world, world.folder / "data", {"BOOKGEN_DATABASE_URL": world.dsn})
    seen: Counter[str] = Counter()

    for number in range(kills):
        file = world.folder / f"{number}.backup"
        command = await folder.command("backup", str(file), *(["--no-drill"] if dice.random() < 0.8 else []))
        await asyncio.sleep(dice.uniform(0.0, 3.0))
        victim = dice.choice(["command", "service", "connection"])
        seen[f"kills of the {victim}"] += 1
        if victim == "command":
            if command.returncode is None:
                command.kill()
        elif victim == "connection":
            while not await world.value(CUT_OFF) and command.returncode is None:  # noqa: ASYNC110 (signals: a row, an end)
                await asyncio.sleep(0.01)
        else:
            await world.until(WILL_SURVIVE)
            await world.kill(process)
            await traffic.after_kill()
            process = await world.serve()
            traffic.meet(process)
        code = await asyncio.wait_for(command.wait(), 300)
        assert file.exists() == (code == 0), folder.log.read_text()[-2000:]
        if file.exists():
            await asyncio.to_thread(verify, file, SECRET)
            file.unlink()
        seen["whole files" if code == 0 else "no files"] += 1
        print(f"backup: {dict(seen)}", flush=True)
        assert not authors.done(), authors.result()

    traffic.finish()
    await authors
    await traffic.at_the_end()
    assert await folder.run("backup", str(world.folder / "last.backup")) == 0
    print(f"backup: {dict(seen)}; {traffic.figures()}")


async def test_a_restore_that_is_killed_leaves_a_target_that_takes_the_next_one(
    world: World, dice: random.Random, kills: int, tmp_path: Path
) -> None:
    source, file = DataFolder(world, tmp_path / "source"), tmp_path / "books.backup"
    world.model.configure(delay=0.4)
    texts = await source.begin_books()
    assert await source.run("backup", str(file), "--no-drill") == 0
    killer, restored = Killer(dice), 0
    first = DataFolder(world, tmp_path / "first")
    assert await first.run("--version") == 0  # by then the process that all others are forked from is loaded
    with killer.measuring():
        assert await first.run("restore", str(file)) == 0
    target = DataFolder(world, tmp_path / "target")

    while killer.kills < kills:
        code = await killer.end(await target.command("restore", str(file)), target.data)
        if code != 0 and await target.run("restore", str(file)) != 0:
            # The kill came after the commit: then it is all there.
            assert "The target is not empty" in target.log.read_text().splitlines()[-1]
        restored += 1
        print(f"restore: {killer.figures()}, {restored} restored", flush=True)
        if killer.kills < kills:
            shutil.rmtree(target.data)

    assert await target.run("runs", "resume", "--all") == 0
    assert await target.finish_books(texts) == BOOKS
    print(f"restore: {killer.figures()}, {restored} restored; {BOOKS} books finished, no chapter lost")


async def test_a_migration_that_is_killed_is_finished_by_the_next_start(
    world: World, dice: random.Random, kills: int, tmp_path: Path
) -> None:
    former = tmp_path / "former"
    server = EmbeddedPostgres(former)
    await server.start()
    loading = await asyncpg.connect(server.superuser_dsn)
    await loading.execute((SCHEMAS / "0.1.0.sql").read_text() + "SET search_path = public")
    before = await loading.fetch(OF_ADA)
    await loading.close()
    await server.stop()
    killer, migrated = Killer(dice), 0
    first = DataFolder(world, await copied(former, tmp_path / "first"))
    assert await first.run("--version") == 0  # as above
    with killer.measuring():
        assert await first.run("migrate") == 0

    while killer.kills < kills:
        folder = DataFolder(world, await copied(former, tmp_path / f"{killer.kills}-{migrated}"))
        code = await killer.end(await folder.command("migrate"), folder.data)
        assert code == 0 or await folder.run("migrate") == 0, folder.log.read_text()
        process = await folder.serve()
        await folder.open()
        assert await world.pool.fetch(OF_ADA) == before
        await process.kill()
        world.pool.terminate()
        shutil.rmtree(folder.data, ignore_errors=True)  # its server may be ending just now
        migrated += 1
        print(f"migration: {killer.figures()}, {migrated} migrated, each with its chapters", flush=True)


@needs_an_older
async def test_a_move_to_a_newer_postgres_that_is_killed_is_finished_by_the_next_start(
    world: World, dice: random.Random, kills: int, tmp_path: Path
) -> None:
    assert OLDER is not None
    programs, version = OLDER
    former = DataFolder(world, tmp_path / "former", {"BOOKGEN_PG_BINDIR": str(programs)})
    world.model.configure(delay=0.4)
    texts = await former.begin_books()
    killer, moved = Killer(dice), 0
    first = DataFolder(world, await copied(former.data, tmp_path / "first"))
    with killer.measuring():
        process = await first.serve()
    await world.kill(process)

    while killer.kills < kills:
        folder = DataFolder(world, await copied(former.data, tmp_path / f"{killer.kills}-{moved}"))
        while not await killer.end_service(await folder.serve(wait=False), folder.data) and killer.kills < kills:
            pass
        process = await folder.serve()
        await folder.open()
        now = await folder.texts()
        assert {place: now.get(place) for place in texts} == texts
        assert int(await world.value("SHOW server_version_num")) // 10_000 > version
        await world.kill(process)
        world.pool.terminate()
        moved += 1
        print(f"move from PostgreSQL {version}: {killer.figures()}, {moved} moved", flush=True)
        if killer.kills < kills:
            shutil.rmtree(folder.data, ignore_errors=True)  # its server may be ending just now

    assert await folder.finish_books(texts) == BOOKS
    print(f"move from PostgreSQL {version}: {killer.figures()}, {moved} moved; {BOOKS} books finished, no chapter lost")
