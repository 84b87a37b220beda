"""A database of an older PostgreSQL, and programs that are newer: it is moved, or refused with the way out."""

from __future__ import annotations

import asyncio
import fcntl
import io
import os
import re
import shlex
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bookgen import config
from bookgen.commands import check
from bookgen.errors import StartupError
from bookgen.store.migrate import migrate
from bookgen.store.postgres import binaries, embedded, moving
from bookgen.store.postgres.binaries import Choice
from bookgen.store.postgres.embedded import EmbeddedPostgres
from bookgen.store.postgres.postmaster import Postmaster
from tests.databases import SQL
from tests.store.postgres.servers import OLDER, begin, copied, needs_an_older, query

ADD_ACCOUNT = "INSERT INTO account (username, email) VALUES ('{0}', '{0}@example.com') RETURNING id"
MADE_BY_HAND = """
    CREATE ROLE dashboard LOGIN PASSWORD 'a reader of figures';
    CREATE TABLE notes AS SELECT n, 'note ' || n AS text FROM generate_series(1, 500) AS n;
    GRANT SELECT ON notes TO dashboard;
"""
NOTES = "SELECT count(*) FROM notes WHERE text = 'note ' || n"


def older() -> tuple[Path, int]:
    assert OLDER is not None
    return OLDER


@pytest.fixture(scope="session")
async def made_by_an_older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose database an older PostgreSQL has made, with two accounts and tables of the operator's."""
    folder = tmp_path_factory.mktemp("older") / "data"
    server = EmbeddedPostgres(folder, older()[0])
    await migrate(await server.start(), SQL)
    for name in ("ada", "bob"):
        await query(server.superuser_dsn, ADD_ACCOUNT.format(name))
    await query(server.superuser_dsn, f"DO $$ BEGIN {MADE_BY_HAND} END $$")
    await server.stop()
    return folder


@pytest.fixture
async def data(tmp_path: Path, made_by_an_older: Path) -> Path:
    return await copied(made_by_an_older, tmp_path / "data")


@pytest.fixture
async def server(data: Path) -> AsyncIterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data)
    yield server
    await server.stop()


def clusters(data: Path) -> list[str]:
    """What stands in the folder of clusters and of moves."""
    return sorted(path.name for path in data.iterdir() if path.name.startswith(("pg1", "pg2", moving.PREFIX)))


@needs_an_older
async def test_a_database_of_an_older_major_is_moved_with_all_that_is_in_it_and_the_old_cluster_is_left(
    server: EmbeddedPostgres, data: Path, log_lines: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = binaries.major(binaries.find())
    monkeypatch.setenv("BOOKGEN_DATA_DIR", str(data))

    dsn = await server.start()

    assert (await query(dsn, "SHOW server_version")).startswith(f"{newest}.")
    assert await query(server.superuser_dsn, NOTES) == 500
    assert await query(server.superuser_dsn, "SELECT has_table_privilege('dashboard', 'notes', 'SELECT')")
    assert await query(dsn, "SELECT array_agg(username ORDER BY id) FROM account") == ["ada", "bob"]
    assert await migrate(dsn, SQL) == []
    assert await query(dsn, ADD_ACCOUNT.format("cyd")) == 3
    assert clusters(data) == [f"pg{older()[1]}", f"pg{newest}"]
    assert "postgres_was_moved" in log_lines.getvalue()
    assert f"data/pg{older()[1]} is left from a move" in await check.database(config.load(None))
    await server.stop()
    next_start = EmbeddedPostgres(data)  # which finds both clusters
    assert await query(await next_start.start(), "SELECT count(*) FROM account") == 3
    await next_start.stop()

    (data / f"pg{newest}").rename(data / "moved-away")
    former = EmbeddedPostgres(data, older()[0])
    try:
        assert await query(await former.start(), "SELECT count(*) FROM account") == 2
    finally:
        await former.stop()


@needs_an_older
async def test_a_command_beside_the_service_moves_nothing(data: Path) -> None:
    visitor = EmbeddedPostgres(data)

    try:
        dsn = await visitor.start(create=False)
        assert (await query(dsn, "SHOW server_version")).startswith(f"{older()[1]}.")
    finally:
        await visitor.stop()

    assert clusters(data) == [f"pg{older()[1]}"]


@needs_an_older
async def test_a_move_that_loses_a_row_does_not_count(
    server: EmbeddedPostgres, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bindir = binaries.find()
    theft = 'psql --dbname="${1#--dbname=}" --quiet --command "DELETE FROM notes WHERE n = 250"'
    put(tmp_path / "clients", bindir, pg_restore=f'{shlex.quote(str(bindir))}/pg_restore "$@" && "${{0%/*}}"/{theft}')

    monkeypatch.setattr(embedded, "move", with_clients(tmp_path / "clients"))

    with pytest.raises(StartupError, match=r"could not be moved to pg\d+: These tables or sequences differ: notes\."):
        await server.start()

    assert clusters(data) == [f"pg{older()[1]}"]


@needs_an_older
async def test_a_program_that_fails_is_named_with_what_it_says(
    server: EmbeddedPostgres, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "clients", binaries.find(), pg_dump="echo 'pg_dump: error: No space left on device' >&2; exit 1")
    monkeypatch.setattr(embedded, "move", with_clients(tmp_path / "clients"))

    with pytest.raises(StartupError, match="pg_dump failed: pg_dump: error: No space left on device"):
        await server.start()

    assert clusters(data) == [f"pg{older()[1]}"]


@needs_an_older
async def test_a_disk_without_room_for_a_second_copy_is_told_before_anything_is_made(
    server: EmbeddedPostgres, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "ROOM_FOR_EACH_BYTE", 1e9)

    with pytest.raises(StartupError, match=r"MB of the disk are free, and a second copy needs \d+ MB"):
        await server.start()

    assert clusters(data) == [f"pg{older()[1]}"]


@needs_an_older
async def test_a_cluster_that_another_process_uses_is_not_moved(
    server: EmbeddedPostgres, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = EmbeddedPostgres(data, older()[0])
    dsn = await former.start()

    try:
        with pytest.raises(StartupError, match=r"Another bookgen is using .* Stop it first"):
            await server.start()
        assert await query(dsn, ADD_ACCOUNT.format("cyd")) == 3
    finally:
        await former.stop()


@needs_an_older
async def test_a_move_that_is_killed_is_begun_again(server: EmbeddedPostgres, data: Path) -> None:
    process = await begin(data)
    async with asyncio.timeout(60):
        while not [*data.glob(f"{moving.PREFIX}*/new/.s*")]:  # noqa: ASYNC110 (the signal is a file)
            await asyncio.sleep(0.002)

    process.kill()
    await process.wait()

    assert await query(await server.start(), "SELECT count(*) FROM account") == 2
    assert await query(server.superuser_dsn, NOTES) == 500
    assert clusters(data) == [f"pg{older()[1]}", f"pg{binaries.major(binaries.find())}"]


@needs_an_older
async def test_a_process_that_stayed_during_a_move_does_not_start_the_older_server_again(
    data: Path, tmp_path: Path, log_lines: io.StringIO
) -> None:
    programs, version = older()
    former, newer = EmbeddedPostgres(data, programs), EmbeddedPostgres(tmp_path / "newer")
    await former.start()
    await newer.start()
    await newer.stop()
    newest = f"pg{binaries.major(binaries.find())}"
    pid = int((data / f"pg{version}" / "postmaster.pid").read_text().split()[0])

    with (data / "pg.lock").open("ab") as lock:  # as the process has it that moves the database
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.kill(pid, signal.SIGKILL)
        (tmp_path / "newer" / newest).rename(data / newest)

    try:
        async with asyncio.timeout(60):
            while "postgres_not_started" not in log_lines.getvalue():  # noqa: ASYNC110 (the signal is a line)
                await asyncio.sleep(0.02)
        assert f"the database in {newest} was made by PostgreSQL" in log_lines.getvalue()
    finally:
        await former.stop()


@needs_an_older
@pytest.mark.parametrize("signal_of", ["roles.sql", "../*.new/postmaster.pid"], ids=["the older", "the newer"])
async def test_a_move_whose_server_is_killed_leaves_the_older_database_and_is_begun_again(
    server: EmbeddedPostgres, data: Path, signal_of: str
) -> None:
    """The older server is killed while it is dumped, the newer one while it is filled."""
    moving_it = asyncio.ensure_future(server.start())
    cluster = data / (f"pg{older()[1]}" if signal_of == "roles.sql" else f"pg{binaries.major(binaries.find())}.new")
    async with asyncio.timeout(100):
        while not [*data.glob(f"{moving.PREFIX}*/{signal_of}")] or not is_ready(cluster):  # noqa: ASYNC110 (files)
            await asyncio.sleep(0.002)

    os.kill(int((cluster / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    (outcome,) = await asyncio.gather(moving_it, return_exceptions=True)
    if isinstance(outcome, BaseException):
        assert re.search(r"could not be moved .* The old database is unchanged", str(outcome))
        assert clusters(data) == [f"pg{older()[1]}"]
        outcome = await server.start()
    else:  # it was killed before the move had seen it ready, and was started again
        assert signal_of != "roles.sql"
    assert await query(outcome, "SELECT count(*) FROM account") == 2
    assert await query(server.superuser_dsn, NOTES) == 500
    assert clusters(data) == [f"pg{older()[1]}", f"pg{binaries.major(binaries.find())}"]


def is_ready(cluster: Path) -> bool:
    """Whether the cluster has a server that accepts connections."""
    try:
        return "ready" in (cluster / "postmaster.pid").read_text()
    except FileNotFoundError:  # between two starts of the move
        return False


def with_clients(folder: Path) -> object:
    """`move` with other programs to dump and restore."""

    async def move(former: Postmaster, server: Postmaster, _: Path, passwords: moving.RolePasswords) -> None:
        await moving.move(former, server, folder, passwords)

    return move


def put(folder: Path, bindir: Path, **scripts: str) -> None:
    """A folder with the programs of `bindir`, some of them replaced by scripts."""
    folder.mkdir()
    for name in moving.CLIENTS:
        if name in scripts:
            script(folder / name, scripts[name])
        else:
            (folder / name).symlink_to(bindir / name)


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


# Which programs are used. These need no second PostgreSQL: a version is what `postgres --version` says.


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders with programs of 15 to 19. The machine finds 18, 16 and 15 by itself, in this order."""
    for version in range(15, 20):
        (tmp_path / f"{version}").mkdir()
        for name in ("initdb", "postgres"):
            script(tmp_path / f"{version}" / name, f"echo 'postgres (PostgreSQL) {version}.4'")
    monkeypatch.setattr(binaries, "WHEELS", ())
    monkeypatch.setattr(binaries, "SYSTEM", (f"{tmp_path.relative_to('/')}/1[568]",))
    monkeypatch.setenv("PATH", "/nowhere")
    return tmp_path


def test_the_preferred_programs_open_their_own_cluster_and_make_new_ones(installed: Path) -> None:
    assert binaries.choose(None, None, None) == binaries.choose(None, None, 18) == Choice(installed / "18")


def test_an_older_cluster_is_moved_to_the_preferred_programs(installed: Path) -> None:
    assert binaries.choose(None, None, 15) == Choice(installed / "18", installed / "15")
    assert binaries.choose(installed / "18", None, 16) == Choice(installed / "18", installed / "16")
    assert binaries.choose(None, installed / "17", 17) == Choice(installed / "18", installed / "17")


def test_the_operators_choice_of_the_clusters_own_version_moves_nothing(installed: Path) -> None:
    assert binaries.choose(installed / "15", None, 15) == Choice(installed / "15")
    assert binaries.choose(None, None, 15, may_move=False) == Choice(installed / "15")


def test_an_older_cluster_without_its_programs_is_refused_with_the_way_out(installed: Path) -> None:
    with pytest.raises(StartupError, match=r"made by PostgreSQL 17.*apt install postgresql-17.*BOOKGEN_PG_OLD_BINDIR"):
        binaries.choose(None, None, 17)


def test_a_newer_cluster_is_refused_with_the_way_out(installed: Path) -> None:
    with pytest.raises(StartupError, match=r"made by PostgreSQL 19.*older: 15, 16, 18\..*BOOKGEN_PG_BINDIR"):
        binaries.choose(None, None, 19)
    with pytest.raises(StartupError, match="made by PostgreSQL 19"):
        binaries.choose(installed / "18", installed / "19", 19)

    assert binaries.choose(installed / "19", None, 19) == Choice(installed / "19")


def test_a_folder_of_older_programs_without_them_is_named(installed: Path) -> None:
    with pytest.raises(StartupError, match="BOOKGEN_PG_OLD_BINDIR="):
        binaries.choose(None, installed / "nowhere", 17)
