"""The embedded server under `kill -9`."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pwd
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bookgen.errors import NoDatabase, StartupError
from bookgen.store.migrate import migrate
from bookgen.store.postgres import account as postgres_account
from bookgen.store.postgres import binaries as postgres_binaries
from bookgen.store.postgres import sockets, starting
from bookgen.store.postgres.embedded import EmbeddedPostgres
from bookgen.store.postgres.sockets import socket_folder
from tests.databases import SQL
from tests.store.postgres.servers import Starter, copied, query


@pytest.fixture(scope="session")
async def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose server was started once and stopped. Copying it saves a test its initdb."""
    folder = tmp_path_factory.mktemp("cluster") / "data"
    server = EmbeddedPostgres(folder)
    await server.start()
    await server.stop()
    return folder


@pytest.fixture
async def server(tmp_path: Path, initialised: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A server in a folder with mode 0700 (as pytest creates it), like a clone in a private home."""
    server = EmbeddedPostgres(await copied(initialised, tmp_path / "data"))
    yield server
    await server.stop()


async def until(answer: Callable[[], Awaitable[Any]]) -> Any:
    """The first result that is not a connection error."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await answer()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await asyncio.sleep(0.05)


def postmaster(folder: Path) -> int:
    (pid_file,) = folder.glob("pg*/postmaster.pid")
    return int(pid_file.read_text().split()[0])


async def test_rows_survive_a_stop_and_a_start(server: EmbeddedPostgres) -> None:
    dsn = await server.start()
    await query(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    await server.stop()

    assert await server.start() == dsn
    assert await query(dsn, "SELECT answer FROM kept") == 42


async def test_after_a_stop_no_process_runs_and_no_socket_listens(server: EmbeddedPostgres, tmp_path: Path) -> None:
    dsn = await server.start()
    pid = postmaster(tmp_path / "data")

    await server.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(OSError, match=r".*"):
        await query(dsn, "SELECT 1")


async def test_a_stop_leaves_no_socket_and_a_start_clears_a_stale_one(server: EmbeddedPostgres, tmp_path: Path) -> None:
    await server.start()
    await server.stop()
    folder = socket_folder(tmp_path / "data")
    assert not [*folder.iterdir()]
    (folder / f"{sockets.NAME}.lock").write_text(f"{os.getpid()}\n")

    assert await query(await server.start(), "SELECT 1") == 1


async def test_another_process_can_connect_with_read_access_to_the_folder_only(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    """As next to a service with PrivateTmp: the temporary folder, the lock and the cluster are inaccessible."""
    dsn = await server.start()
    (cluster,) = (tmp_path / "data").glob("pg*/PG_VERSION")
    cluster.parent.rename(tmp_path / "hidden")
    (tmp_path / "data" / cluster.parent.name).mkdir(mode=0o000)
    (tmp_path / "data" / "pg.lock").unlink()
    visitor = EmbeddedPostgres(tmp_path / "data")

    try:
        assert await visitor.start(create=False) == dsn
        assert await query(dsn, "SELECT 1") == 1
        assert not (tmp_path / "data" / "pg.lock").exists()
    finally:
        await visitor.stop()
        (tmp_path / "data" / cluster.parent.name).rmdir()
        (tmp_path / "hidden").rename(cluster.parent)


async def test_for_root_the_database_runs_as_the_owner_of_its_folder(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may run programs as another user")
    nobody = pwd.getpwnam("nobody")
    (tmp_path / "data").mkdir(mode=0o700)
    os.chown(tmp_path / "data", nobody.pw_uid, nobody.pw_gid)
    server = EmbeddedPostgres(tmp_path / "data")
    try:
        assert await query(await server.start(), "SELECT 1") == 1
    finally:
        await server.stop()

    assert {path.stat().st_uid for path in (tmp_path / "data").iterdir()} == {nobody.pw_uid}


async def test_no_database_is_created_unless_requested(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase, match="There is no database in"):
        await EmbeddedPostgres(tmp_path / "data").start(create=False)

    assert not (tmp_path / "data").exists()


async def test_the_server_needs_a_password_and_listens_on_a_private_socket_only(server: EmbeddedPostgres) -> None:
    dsn = await server.start()
    folder = Path(dsn.partition("host=")[2].partition("&")[0])

    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(asyncpg.InvalidPasswordError):
        await query(dsn.replace("bookgen_service:", "bookgen_service:x"), "SELECT 1")
    assert await query(dsn, "SHOW listen_addresses") == ""
    with pytest.raises(asyncpg.InvalidPasswordError):
        await query(dsn.replace("bookgen_service:", "bookgen_service:x"), "SELECT 1")


async def test_only_the_owner_can_read_the_password(server: EmbeddedPostgres, tmp_path: Path) -> None:
    await server.start()

    assert (tmp_path / "data" / "pg.password").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


async def test_recovery_after_a_crash_takes_bounded_time(server: EmbeddedPostgres) -> None:
    dsn = await server.start()

    assert await query(dsn, "SHOW max_wal_size") == "256MB"
    assert await query(dsn, "SHOW checkpoint_timeout") == "1min"
    assert await query(dsn, "SHOW fsync") == "on"


async def test_a_killed_postmaster_is_restarted_with_its_rows(server: EmbeddedPostgres, tmp_path: Path) -> None:
    dsn = await server.start()
    await query(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    killed = postmaster(tmp_path / "data")

    os.kill(killed, signal.SIGKILL)

    assert await until(lambda: query(dsn, "SELECT answer FROM kept")) == 42
    assert postmaster(tmp_path / "data") != killed


async def test_the_server_ends_with_its_starter_and_can_be_restarted(server: EmbeddedPostgres, tmp_path: Path) -> None:
    starter = await Starter.on(tmp_path / "data")
    await query(starter.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    pid = postmaster(tmp_path / "data")

    await starter.kill()

    dsn = await server.start()
    assert await until(lambda: query(dsn, "SELECT answer FROM kept")) == 42
    assert postmaster(tmp_path / "data") != pid


async def test_killing_starter_and_postmaster_together_loses_nothing(server: EmbeddedPostgres, tmp_path: Path) -> None:
    starter = await Starter.on(tmp_path / "data")
    await query(starter.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")

    os.kill(postmaster(tmp_path / "data"), signal.SIGKILL)
    await starter.kill()

    assert await query(await server.start(), "SELECT answer FROM kept") == 42


async def test_a_second_process_connects_and_disconnects_without_stopping_it(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    dsn = await server.start()
    pid = postmaster(tmp_path / "data")

    second = await Starter.on(tmp_path / "data")
    assert second.dsn == dsn
    await second.kill()

    assert postmaster(tmp_path / "data") == pid
    assert await query(dsn, "SELECT 1") == 1


async def test_the_second_process_takes_over_when_the_starter_is_killed(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    starter = await Starter.on(tmp_path / "data")
    dsn = await server.start()
    await query(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    first = postmaster(tmp_path / "data")

    await starter.kill()

    async def answer_of_the_next_server() -> Any:
        kept = await query(dsn, "SELECT answer FROM kept")
        if postmaster(tmp_path / "data") == first:
            raise ConnectionError("still the old server")
        return kept

    assert await until(answer_of_the_next_server) == 42


async def test_three_processes_starting_at_once_share_one_server(tmp_path: Path) -> None:
    starters = await asyncio.gather(*(Starter.on(tmp_path / "data") for _ in range(3)))

    pids = {await query(starter.dsn, "SELECT pg_postmaster_start_time()::text") for starter in starters}

    assert len(pids) == 1
    for starter in starters:
        await starter.kill()


async def test_a_stale_pid_file_that_names_a_live_process_is_ignored(server: EmbeddedPostgres, tmp_path: Path) -> None:
    dsn = await server.start()
    stale = "\n".join([str(os.getpid()), "x", "0", "5432", "x", "", "0 0", "ready"])
    await server.stop()
    (folder,) = (path.parent for path in (tmp_path / "data").glob("pg*/PG_VERSION"))
    pid_file = folder / "postmaster.pid"
    pid_file.write_text(stale)
    shutil.chown(pid_file, *(folder.owner(), folder.group()))

    assert await query(await server.start(), "SELECT 1") == 1
    assert dsn


async def test_an_initdb_killed_halfway_is_repeated(tmp_path: Path) -> None:
    major = postgres_binaries.major(postgres_binaries.find())
    half = tmp_path / "data" / f"pg{major}.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("")
    server = EmbeddedPostgres(tmp_path / "data")

    try:
        assert await query(await server.start(), "SELECT 1") == 1
    finally:
        await server.stop()


async def test_a_data_path_longer_than_a_socket_address_is_supported(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / ("long" * 40))
    try:
        assert await query(await server.start(), "SELECT 1") == 1
    finally:
        await server.stop()


async def test_a_data_folder_that_cannot_be_created_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StartupError, match=r"BOOKGEN_DATA_DIR=.*file/data can't be written: Not a directory"):
        await EmbeddedPostgres(tmp_path / "file" / "data").start()


async def test_a_link_in_place_of_the_socket_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    socket_folder((tmp_path / "data").resolve()).symlink_to(tmp_path)

    with pytest.raises(StartupError, match="belongs to another user"):
        await EmbeddedPostgres(tmp_path / "data").start()


async def test_a_server_that_cannot_start_reports_its_last_log_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "SPAWNS", 2)
    server = EmbeddedPostgres(tmp_path / "data", settings={"shared_buffers": "nonsense"})
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "postgres.log").write_text("FATAL:  of an earlier start\n" * 3)

    with pytest.raises(StartupError, match=r"FATAL.*shared_buffers"):
        await server.start()


async def test_a_folder_without_the_postgres_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="BOOKGEN_PG_BINDIR"):
        await EmbeddedPostgres(tmp_path / "data", tmp_path).start()


async def test_programs_in_a_private_home_folder_run_without_opening_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bindir = postgres_binaries.find()
    package = bindir.parents[1]
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.is_dir():
            shutil.copytree(source, tmp_path / source.name, symlinks=True)
    copies = Path(tempfile.mkdtemp(prefix="bookgen-copies-"))
    copies.chmod(0o755)
    monkeypatch.setattr(postgres_account, "COPIES", copies)
    server = EmbeddedPostgres(tmp_path / "data", tmp_path / package.name / bindir.relative_to(package))
    accounts = len(pwd.getpwall())

    try:
        assert await query(await server.start(), "SELECT 1") == 1
    finally:
        await server.stop()
        shutil.rmtree(copies)

    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert len(pwd.getpwall()) == accounts


async def test_a_cluster_of_another_major_version_is_neither_opened_nor_overwritten(tmp_path: Path) -> None:
    (tmp_path / "data" / "pg14").mkdir(parents=True)
    (tmp_path / "data" / "pg14" / "PG_VERSION").write_text("14\n")

    with pytest.raises(StartupError, match="made by PostgreSQL 14"):
        await EmbeddedPostgres(tmp_path / "data").start()

    assert [path.name for path in (tmp_path / "data").glob("pg[0-9]*")] == ["pg14"]


async def test_no_second_server_is_started_next_to_one_in_another_container(
    server: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "CLAIM_SECONDS", 0.2)
    await server.start()
    await server.stop()

    with (tmp_path / "data" / "pg.claim").open() as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)  # as a server in another container holds it
        with pytest.raises(StartupError, match="another PostgreSQL, perhaps in another container"):
            await server.start()

    assert await query(await server.start(), "SELECT 1") == 1


async def test_a_running_server_keeps_the_lock_on_its_cluster(server: EmbeddedPostgres, tmp_path: Path) -> None:
    await server.start()

    with (tmp_path / "data" / "pg.claim").open() as claim, pytest.raises(BlockingIOError):
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has batch processes")
async def test_database_backends_have_batch_priority(server: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(await server.start())

    assert os.sched_getscheduler(connection.get_server_pid()) == os.SCHED_BATCH
    await connection.close()


async def test_the_server_log_contains_none_of_our_statements(server: EmbeddedPostgres, tmp_path: Path) -> None:
    dsn = await server.start()

    with pytest.raises(asyncpg.UndefinedTableError):
        await query(dsn, "SELECT 'hush' FROM nowhere")

    assert "hush" not in (tmp_path / "data" / "postgres.log").read_text()


RIGHTS = "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"
OWN_FUNCTION = "CREATE OR REPLACE FUNCTION folded(name text) RETURNS text LANGUAGE sql IMMUTABLE RETURN lower(name)"
ADD_ACCOUNT = "INSERT INTO account (username, email) VALUES ('{0}', '{0}@example.com') RETURNING id"
LEFT = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relowner = 'bookgen'::regrole"


async def test_the_service_role_owns_the_database_and_is_not_a_superuser(server: EmbeddedPostgres) -> None:
    dsn = await server.start()

    await query(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")

    assert await query(dsn, "SELECT current_user") == "bookgen_service"
    assert await query(dsn, RIGHTS) is False
    for harm in ("SELECT pg_read_file('PG_VERSION')", "COPY kept TO PROGRAM 'true'", "ALTER ROLE bookgen LOGIN"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await query(dsn, harm)


async def test_the_database_of_an_older_version_is_transferred_to_the_service_role(server: EmbeddedPostgres) -> None:
    await server.start()
    former = server.superuser_dsn
    await query(former, "ALTER DATABASE postgres OWNER TO bookgen")
    await migrate(former, SQL)
    await query(former, ADD_ACCOUNT.format("ada"))
    assert await query(former, LEFT) > 0
    await server.stop()

    dsn = await server.start()

    assert await migrate(dsn, SQL) == []
    assert await query(dsn, ADD_ACCOUNT.format("bob")) == 2
    await query(dsn, "ALTER TABLE account ADD COLUMN later text")
    await query(dsn, OWN_FUNCTION)
    assert await query(dsn, "SELECT count(*) FROM account") == 2
    assert await query(former, LEFT) == 0
