"""Move an embedded database of an older PostgreSQL to newer programs, by dump and restore.

The new cluster is made beside the old one, under a temporary name. It gets its final name after every table has been
compared. Until then, the old cluster is the database. It is opened read-only, so a move that fails or is killed changes
nothing: the next start tries again, and the old programs can still open the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import asyncpg
import structlog

from bookgen.durable import sync_folder
from bookgen.errors import StartupError, Unavailable
from bookgen.store.backup.tables import TableDigest, copy_out, every_table
from bookgen.store.backup.taking import sequences
from bookgen.store.database import connect_unbounded
from bookgen.store.postgres import roles, sockets
from bookgen.store.postgres.account import failure
from bookgen.store.postgres.clusters import dsn_of, make_cluster
from bookgen.store.postgres.postmaster import Postmaster
from bookgen.store.postgres.space import disk_space
from bookgen.store.postgres.starting import bring_up

log = structlog.get_logger(__name__)

PREFIX = "move-"
CLIENTS = ("pg_dump", "pg_dumpall", "pg_restore", "psql")
# Free bytes needed per byte of the old cluster: for the new cluster and the compressed dump.
ROOM_FOR_EACH_BYTE = 1.5
READ_ONLY = {"default_transaction_read_only": "on"}


class RolePasswords(NamedTuple):
    """The passwords of the two roles of an embedded database."""

    superuser: str
    service: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digests of all tables and the values of all sequences, which must be equal in both clusters."""

    tables: Mapping[str, TableDigest]
    sequences: Mapping[str, int]

    def differing(self, other: Fingerprint) -> list[str]:
        """The names of the tables and sequences that differ, or that only one of the two fingerprints has."""
        ours, theirs = ({**each.tables, **each.sequences} for each in (self, other))
        return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))


async def move(former: Postmaster, server: Postmaster, clients: Path, passwords: RolePasswords) -> None:
    """Move the database of `former` to a new cluster for `server`, the newer version. Afterwards neither server runs.

    `clients`: the folder of the newer version's `pg_dump` and related programs. The caller holds the lock of the data
    folder. Raises StartupError if the move fails; the old cluster is then still the database.
    """
    names = {"former": former.data.name, "new": server.data.name}
    log.warning("postgres_is_being_moved", **names)
    try:
        _require_clients(clients)
        _require_room(former.data)
        with _work_folder(former.data.parent) as folder:
            old = replace(former, sockets=folder / "old", settings={**former.settings, **READ_ONLY})
            new = replace(server, data=server.data.with_suffix(".new"), sockets=folder / "new")
            await asyncio.to_thread(make_cluster, new.data, new.programs, new.runner, passwords.superuser)
            await _copy(old, new, Clients(clients, folder, passwords.superuser), passwords)
        new.data.rename(server.data)
        sync_folder(server.data.parent)
    except (StartupError, Unavailable, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StartupError(
            f"The database in {former.data} could not be moved to {server.data.name}: {str(error).rstrip('.')}. "
            "The old database is unchanged, and the next start tries again. To stay with the old PostgreSQL, set "
            f"BOOKGEN_PG_BINDIR={former.programs}."
        ) from error
    finally:
        await asyncio.to_thread(shutil.rmtree, server.data.with_suffix(".new"), ignore_errors=True)
    log.warning("postgres_was_moved", **names, to_do=f"Delete {former.data} when you no longer need the old database.")


async def _copy(old: Postmaster, new: Postmaster, clients: Clients, passwords: RolePasswords) -> None:
    """Dump the old cluster, restore it into the new one, and compare. Raises StartupError if anything differs."""
    async with _exclusively(old) as socket:
        before = await _fingerprint(dsn_of(roles.SUPERUSER, passwords.superuser, socket))
        await clients.run("pg_dumpall", socket, "--roles-only", f"--file={clients.roles}")
        await clients.run("pg_dump", socket, "--format=custom", f"--file={clients.dump}")
    async with _exclusively(new) as socket:
        dsn = dsn_of(roles.SUPERUSER, passwords.superuser, socket)
        await roles.give_to_service(dsn, passwords.service)
        # The service's two roles already exist. psql reports an error for each and continues.
        await clients.run("psql", socket, "--no-psqlrc", "--quiet", f"--file={clients.roles}")
        await clients.run("pg_restore", socket, "--exit-on-error", str(clients.dump))
        if wrong := before.differing(await _fingerprint(dsn)):
            raise StartupError(f"These tables or sequences differ: {', '.join(wrong)}.")
        await _analyze(dsn)


@dataclass(frozen=True, slots=True)
class Clients:
    """PostgreSQL's own programs to dump and restore, and the files that they write to the work folder."""

    programs: Path
    folder: Path
    password: str

    @property
    def dump(self) -> Path:
        return self.folder / "database.dump"

    @property
    def roles(self) -> Path:
        return self.folder / "roles.sql"

    async def run(self, name: str, socket: str, *arguments: str) -> None:
        """Run a program on the database whose socket is in the folder `socket`.

        Raises StartupError with the program's error message if it fails.
        """
        process = await asyncio.create_subprocess_exec(
            self.programs / name,
            f"--dbname=postgresql://{roles.SUPERUSER}@/postgres?host={quote(socket)}&port=5432",
            *arguments,
            env={**os.environ, "PGPASSWORD": self.password, "LC_ALL": "C"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, said = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise StartupError(f"{name} failed: {failure(said.decode(errors='replace'))}.")


@contextlib.asynccontextmanager
async def _exclusively(server: Postmaster) -> AsyncIterator[str]:
    """A context in which the server runs on a private socket, so that nobody else can connect. Yields its folder.

    Raises StartupError if a server already runs on this cluster, without waiting for that server to stop. The process
    that runs it could start it again after the move, and what it stores then would be lost.
    """
    if server.alive():
        raise StartupError(f"Another bookgen is using {server.data}. Stop it first.")
    try:
        await bring_up(server)
        yield sockets.address(server.sockets)
    finally:
        await asyncio.to_thread(server.stop)


async def _fingerprint(dsn: str) -> Fingerprint:
    connection = await connect_unbounded(dsn)
    try:
        tables = {table.name: await copy_out(connection, table) for table in await every_table(connection)}
        return Fingerprint(tables, await sequences(connection))
    finally:
        await connection.close()


async def _analyze(dsn: str) -> None:
    """Collect the planner's statistics, which a dump does not contain."""
    connection = await connect_unbounded(dsn)
    try:
        await connection.execute("ANALYZE")
    finally:
        await connection.close()


def _require_clients(programs: Path) -> None:
    if missing := [name for name in CLIENTS if not os.access(programs / name, os.X_OK)]:
        raise StartupError(f"{programs} has no {' and no '.join(missing)}.")


def _require_room(cluster: Path) -> None:
    needed = int(sum(path.lstat().st_size for path in cluster.rglob("*")) * ROOM_FOR_EACH_BYTE)
    space = disk_space(cluster)
    if space is not None and space.free < needed:
        raise StartupError(f"{space.free >> 20} MB of the disk are free, and a second copy needs {needed >> 20} MB.")


@contextlib.contextmanager
def _work_folder(root: Path) -> Iterator[Path]:
    """A folder for the dump and the sockets. Folders of moves that were killed are removed."""
    for left in root.glob(f"{PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
