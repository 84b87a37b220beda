"""The real PgBouncer, as Debian packages it, between a test's service and its database."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import asyncpg

from tests.databases import command

SETTINGS = """
[databases]
* = host={host} port={port} user={user} password='{password}'

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


@asynccontextmanager
async def pgbouncer(dsn: str, more: str = "") -> AsyncIterator[str]:
    """The DSN of a pool of four connections in transaction mode.

    `dsn` leads to the server by TCP. Settings that the service stores on the role are removed at the end.
    """
    parts = urlsplit(dsn)
    folder = Path(tempfile.mkdtemp(prefix="bookgen-pgbouncer-"))
    own_port = _free_port()
    settings = SETTINGS.format(
        host=parts.hostname, port=parts.port, user=parts.username, password=unquote(parts.password or ""),
        own_port=own_port, folder=folder, more=more,
    )  # fmt: skip
    (folder / "pgbouncer.ini").write_text(settings)
    if os.getuid() == 0:  # PgBouncer refuses to run as root
        shutil.chown(folder, "nobody")
    as_nobody = ("-u", "nobody") if os.getuid() == 0 else ()
    process = await asyncio.create_subprocess_exec(
        "pgbouncer", "-q", *as_nobody, str(folder / "pgbouncer.ini"),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await _until_it_listens(own_port, folder)
        yield f"postgresql://{parts.username}@127.0.0.1:{own_port}{parts.path}?sslmode=disable"
    finally:
        process.kill()
        await process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        await command(dsn, DROP_ROLE_SETTINGS.format(parts.path.strip("/")))


async def reconnect(pooled: str) -> None:
    """Make the pooler open all its server connections again."""
    parts = urlsplit(pooled)
    admin = await asyncpg.connect(parts._replace(path="/pgbouncer").geturl(), statement_cache_size=0)
    try:
        await admin.execute("RECONNECT")
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


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
