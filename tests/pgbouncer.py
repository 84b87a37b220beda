"""The real PgBouncer, as Debian packages it, between a test's service and its database."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import asyncpg

from tests.databases import command
from tests.ports import free_port

SETTINGS = """
[databases]
{name} = host={host} port={port} user={user}{password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
admin_users = {user}
pool_mode = transaction
default_pool_size = 4
logfile = {folder}/pgbouncer.log
{more}
"""
DROP_ROLE_SETTINGS = "ALTER ROLE CURRENT_USER IN DATABASE {} RESET ALL"


@dataclass
class Pooler:
    """A running PgBouncer. `dsn`: the database through it."""

    dsn: str
    folder: Path
    more: str = ""

    @property
    def port(self) -> int:
        return urlsplit(self.dsn).port or 0

    def write_settings(self, server: str) -> None:
        """Write its file, which leads to the database of this DSN."""
        parts = urlsplit(server)
        settings = SETTINGS.format(
            host=parts.hostname, port=parts.port, user=parts.username,
            password=f" password='{unquote(parts.password)}'" if parts.password else "",
            name=parts.path.strip("/"), own_port=self.port, folder=self.folder, more=self.more,
        )  # fmt: skip
        (self.folder / "pgbouncer.ini").write_text(settings)

    async def lead_to(self, server: str) -> None:
        """Lead to another server from now on, as an operator does after a failover."""
        self.write_settings(server)
        await _admin(self.dsn, "RELOAD")


@asynccontextmanager
async def pgbouncer(dsn: str, more: str = "") -> AsyncIterator[str]:
    """The DSN of a pool of four connections in transaction mode.

    `dsn` leads to the server by TCP. Settings that the service stores on the role are removed at the end.
    """
    try:
        async with running_pooler(dsn, more) as pooler:
            yield pooler.dsn
    finally:
        await command(dsn, DROP_ROLE_SETTINGS.format(urlsplit(dsn).path.strip("/")))


@asynccontextmanager
async def running_pooler(dsn: str, more: str = "") -> AsyncIterator[Pooler]:
    """Like `pgbouncer`, but the settings of the role stay."""
    parts = urlsplit(dsn)
    folder = Path(tempfile.mkdtemp(prefix="bookgen-pgbouncer-"))
    own_port = free_port()
    pooled = f"postgresql://{parts.username}@127.0.0.1:{own_port}{parts.path}?sslmode=disable"
    pooler = Pooler(pooled, folder, more)
    pooler.write_settings(dsn)
    if os.getuid() == 0:  # PgBouncer refuses to run as root
        shutil.chown(folder, "nobody")
    as_nobody = ("-u", "nobody") if os.getuid() == 0 else ()
    process = await asyncio.create_subprocess_exec(
        "pgbouncer", "-q", *as_nobody, str(folder / "pgbouncer.ini"),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await _until_it_listens(own_port, folder)
        yield pooler
    finally:
        process.kill()
        await process.wait()
        shutil.rmtree(folder, ignore_errors=True)


async def reconnect(pooled: str) -> None:
    """Make the pooler open all its server connections again."""
    await _admin(pooled, "RECONNECT")


async def _admin(pooled: str, order: str) -> None:
    admin = await asyncpg.connect(urlsplit(pooled)._replace(path="/pgbouncer").geturl(), statement_cache_size=0)
    try:
        await admin.execute(order)
    finally:
        await admin.close()


async def _until_it_listens(port: int, folder: Path) -> None:
    try:
        async with asyncio.timeout(10):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except ConnectionRefusedError:
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return
    except TimeoutError:
        log = folder / "pgbouncer.log"
        raise AssertionError(log.read_text() if log.exists() else "pgbouncer did not start") from None
