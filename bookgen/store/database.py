"""Connection pools: for requests, for runs, and for renewing the process's lease, so that none starves the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Mapping
from typing import Any, TypeAlias

import asyncpg
import orjson

from bookgen.errors import Unavailable
from bookgen.store import pooler
from bookgen.store.connecting import connect
from bookgen.store.outages import (
    UNREACHABLE,
    PoolExhausted,
    is_transient,
    raise_as_unavailable,
    transient_as_unavailable,
)

DB: TypeAlias = asyncpg.Pool | asyncpg.Connection

LEASE_CONNECTIONS = 2
LISTENERS = 1
NAMED = {"application_name": "bookgen", "timezone": "UTC"}  # settings that poolers pass on
BOUNDS = {
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
    # No plan here depends on a parameter's value. By default PostgreSQL plans each statement five times on each
    # connection before it caches a generic plan, which costs more than most statements do.
    "plan_cache_mode": "force_generic_plan",
}
SESSION = NAMED | BOUNDS
CONNECT_SECONDS = 5.0
STATEMENTS = 100  # prepared statements cached per connection
# The session settings limit how long a statement runs on the server. This limits how long the client waits for a server
# that does not answer at all: it may be frozen, or behind a network that drops all packets.
SILENCE_SECONDS = 35.0
HTTP_SILENCE_SECONDS = 15.0  # shorter, because a client waits for the response
QUEUE_SECONDS = 20.0  # the longest wait for a connection while others are still being returned


# Errors after which a connection is useless: its server is shutting down and takes no more messages, or has become a
# standby, or does not answer, so that a rollback would wait just as long. Its end also keeps asyncpg from cancelling a
# commit that waits for a synchronous standby, which PostgreSQL would then complete without that standby.
BROKEN = (asyncpg.InternalClientError, asyncpg.ReadOnlySQLTransactionError, TimeoutError)


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that raises Unavailable if it loses the server, and is not reset when it is released.

    The reset would cost a round trip. Skipping it is safe because no code keeps session state on a pooled connection:
    no SET without LOCAL, no LISTEN, no session-level advisory lock.
    """

    def get_reset_query(self) -> str:
        return ""

    async def _translated(self, call: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await call
        except Exception as error:
            if isinstance(error, BROKEN):
                self.terminate()
            raise_as_unavailable(error)
            raise

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        return await self._translated(super().execute(*args, **kwargs))

    async def executemany(self, *args: Any, **kwargs: Any) -> Any:
        return await self._translated(super().executemany(*args, **kwargs))

    async def fetchmany(self, *args: Any, **kwargs: Any) -> Any:
        return await self._translated(super().fetchmany(*args, **kwargs))

    async def fetch(self, *args: Any, **kwargs: Any) -> Any:
        return await self._translated(super().fetch(*args, **kwargs))

    async def fetchrow(self, *args: Any, **kwargs: Any) -> Any:
        return await self._translated(super().fetchrow(*args, **kwargs))

    async def fetchval(self, *args: Any, **kwargs: Any) -> Any:
        return await self._translated(super().fetchval(*args, **kwargs))


class Loan:
    """The result of `Pool.acquire`, for `async with`. If it is awaited instead, the connection must be released."""

    __slots__ = ("_connection", "_patience", "_pool")

    def __init__(self, pool: Pool, patience: float) -> None:
        self._pool = pool
        self._patience = patience
        self._connection: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._pool.lend(self._patience).__await__()

    async def __aenter__(self) -> Any:
        self._connection = await self
        return self._connection

    async def __aexit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        await self._pool.release(self._connection)
        # When a connection is lost, asyncpg detaches it and raises InterfaceError to its holder.
        if isinstance(error, asyncpg.InterfaceError) and is_transient(error):
            raise Unavailable(UNREACHABLE) from error


class Pool(asyncpg.Pool):  # type: ignore[misc]
    """A connection pool that serves waiting callers in order.

    A caller gets Unavailable after waiting for QUEUE_SECONDS, or for `patience` seconds if that is longer. The wait
    ends earlier, also with Unavailable, if the pool gets no connection back for `patience` seconds, because the
    database may then be unresponsive.
    """

    __slots__ = ("_lent", "_moved_at", "_patience", "_queued", "_turns")

    def __init__(self, *args: Any, patience: float, max_size: int, **kwargs: Any) -> None:
        super().__init__(*args, max_size=max_size, **kwargs)
        self._patience = patience
        self._turns = asyncio.Semaphore(max_size)  # asyncpg's own queue lets newcomers overtake waiting callers
        self._queued = 0
        self._lent: set[int] = set()
        self._moved_at = 0.0

    @property
    def in_use(self) -> int:
        """How many connections are in use."""
        return len(self._lent)

    @property
    def waiters(self) -> int:
        """How many callers wait for a connection."""
        return self._queued

    def acquire(self, *, timeout: float | None = None) -> Loan:
        """A connection, for `await` or `async with`. `timeout` overrides the pool's `patience`."""
        return Loan(self, self._patience if timeout is None else timeout)

    async def lend(self, patience: float) -> Any:
        """Wait for the caller's turn and return a connection."""
        with transient_as_unavailable():
            await self._take_turn(patience)
            try:
                # One is free, or is made within CONNECT_SECONDS.
                connection = await super().acquire()
            except BaseException:
                self._turns.release()
                raise
        self._lent.add(id(connection))
        return connection

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 (asyncpg's)
        if _is_in_transaction(connection):
            connection.terminate()  # its rollback was interrupted; the server rolls back when the connection closes
        try:
            await super().release(connection, timeout=self._patience if timeout is None else timeout)
        except TimeoutError:
            # If the task is being cancelled while the network is down, this TimeoutError would hide the cancellation.
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError from None
            raise
        finally:
            if id(connection) in self._lent:
                self._lent.remove(id(connection))
                self._moved_at = asyncio.get_running_loop().time()
                self._turns.release()

    async def _take_turn(self, patience: float) -> None:
        """Wait until a connection is free for this caller, or raise PoolExhausted."""
        if not self._queued and not self._turns.locked():
            await self._turns.acquire()  # returns without waiting
            return
        clock = asyncio.get_running_loop().time
        began = clock()
        turn = asyncio.create_task(self._turns.acquire())
        self._queued += 1
        try:
            while not turn.done():
                until = min(max(self._moved_at, began) + patience, began + max(patience, QUEUE_SECONDS))
                if until <= clock():
                    raise PoolExhausted
                await asyncio.wait((turn,), timeout=until - clock())
        except BaseException:
            if not turn.cancel():  # the turn has just been acquired
                self._turns.release()
            raise
        finally:
            self._queued -= 1


def _is_in_transaction(connection: Any) -> bool:
    """Whether a transaction is open. False for a closed or released connection, for which asyncpg would raise."""
    try:
        return not connection.is_closed() and bool(connection.is_in_transaction())
    except asyncpg.InterfaceError:
        return False


async def open_pool(
    dsn: str,
    *,
    size: int,
    patience: float = 4.0,
    silence: float = SILENCE_SECONDS,
    warm: int = 1,
    pooled: bool = False,
    statement_cache: bool = True,
) -> Pool:
    """Open a pool of at most `size` connections. `warm` of them are opened now, so that a wrong DSN fails here.

    `patience`: see `Pool`. `silence`: how many seconds a statement may take. `pooled`: the DSN leads to a transaction
    pooler, which does not accept session settings.
    """
    pool = Pool(
        dsn,
        patience=patience,
        init_size=warm,
        min_size=0,
        max_size=size,
        max_queries=50_000,
        max_inactive_connection_lifetime=300.0,
        loop=None,
        connect=connect,
        connection_class=Connection,
        record_class=asyncpg.Record,
        init=_teach_jsonb,
        timeout=CONNECT_SECONDS,
        command_timeout=silence,
        statement_cache_size=STATEMENTS if statement_cache else 0,
        server_settings=NAMED if pooled else SESSION,
    )
    with transient_as_unavailable():
        await pool
    return pool


async def connect_unbounded(dsn: str) -> Connection:
    """A connection outside the pools, for work that exceeds the pools' time limits. `dsn` must bypass any pooler."""
    unbounded = dict.fromkeys(BOUNDS.keys() - {"plan_cache_mode"}, "0")
    with transient_as_unavailable():
        connection: Connection = await connect(
            dsn,
            connection_class=Connection,
            timeout=CONNECT_SECONDS,
            server_settings=NAMED | unbounded,
        )
    await _teach_jsonb(connection)
    return connection


class Database:
    """The service's connection pools. Store functions take one of these pools, or a connection from a pool.

    `direct_dsn` bypasses any transaction pooler, so its sessions keep their settings and listeners.
    """

    def __init__(self, direct_dsn: str, http: Pool, runs: Pool, lease: Pool) -> None:
        self.direct_dsn = direct_dsn
        self.http = http
        self.runs = runs
        self.lease = lease

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        direct_dsn: str | None = None,
        statement_cache: bool = True,
        http_connections: int = 16,
        run_connections: int = 8,
    ) -> Database:
        """Open the pools. A `direct_dsn` that differs from `dsn` means that `dsn` is a transaction pooler.

        Raises StartupError if that pooler lacks a feature that bookgen needs.
        """
        direct_dsn = direct_dsn or dsn
        pooled = direct_dsn != dsn
        if pooled:
            with transient_as_unavailable():
                await pooler.remember(dsn, BOUNDS)
                if statement_cache:
                    await pooler.require_prepared_statements(dsn)
        how: Any = {"pooled": pooled, "statement_cache": statement_cache}
        pools: list[Pool] = []
        try:
            pools.append(await open_pool(dsn, size=http_connections, silence=HTTP_SILENCE_SECONDS, **how))
            pools.append(await open_pool(dsn, size=run_connections, patience=30.0, **how))
            pools.append(await open_pool(direct_dsn, size=LEASE_CONNECTIONS, patience=30.0, warm=0))
        except BaseException:
            for pool in pools:
                pool.terminate()
            raise
        return cls(direct_dsn, *pools)

    async def close(self, *, patience: float = 5.0) -> None:
        """Wait up to `patience` seconds per pool for connections in use, then terminate them."""
        for pool in (self.lease, self.runs, self.http):
            try:
                async with asyncio.timeout(patience):
                    await pool.close()
            except TimeoutError:
                pool.terminate()


ROOM = """
    SELECT least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0),
        (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
        (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
    )
"""


async def room(connection: asyncpg.Connection) -> int:
    """How many connections the database server allows for bookgen's role and database, all processes together."""
    return int(await connection.fetchval(ROOM))


async def _teach_jsonb(connection: asyncpg.Connection) -> None:
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=_encode_jsonb, decoder=_decode_jsonb
    )


def _encode_jsonb(value: Any) -> bytes:
    return b"\x01" + orjson.dumps(value, default=_plain)  # the format version (one byte), then the text


def _decode_jsonb(value: bytes) -> Any:
    return orjson.loads(value[1:])


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
