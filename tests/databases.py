"""Databases of the tests: clones of a migrated template, each lent to one test at a time and restored for the next.

To make a clone and to drop it takes ten times as long as to restore one: empty its tables, put back the rows that the
migrations make, set the sequences back. What a test did to the schema is not undone: such a clone is dropped.

Its pools stay open: what a connection has to read and to plan anew costs the server more than most tests ask of it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg

from bookgen.errors import BookgenError
from bookgen.store.database import Database, Pool
from bookgen.store.migrate import migrate

SQL = Path(__file__).parent.parent / "sql"
TEMPLATE = "bookgen_template"
# A table that grew keeps its pages, and every test after it would read them.
MAX_BYTES = 4 << 20
MAX_TESTS = 100

KEEP_THE_BEGINNING = """
    CREATE SCHEMA pristine;

    DO $$
    DECLARE name text; filled boolean;
    BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
            IF filled THEN
                EXECUTE format('CREATE TABLE pristine.%I AS TABLE public.%I', name, name);
            END IF;
        END LOOP;
    END $$;

    CREATE TABLE pristine._table AS
        SELECT c.oid::regclass AS id, c.relname AS name,
               to_regclass(format('pristine.%I', c.relname)) IS NOT NULL AS filled,
               (SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns
          FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace;

    CREATE TABLE pristine._sequence AS
        SELECT format('public.%I', sequencename)::regclass AS id, coalesce(last_value, start_value) AS value,
               last_value IS NOT NULL AS called
          FROM pg_sequences WHERE schemaname = 'public';

    CREATE TABLE pristine._change (command text);

    CREATE FUNCTION pristine.note() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO pristine._change VALUES (tg_tag); END $$;

    -- A statement for each table, so that a connection plans it once.
    DO $do$
    DECLARE statements text;
    BEGIN
        SELECT string_agg(format('DELETE FROM public.%I;', name) || CASE WHEN filled THEN
                   format('INSERT INTO public.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM pristine.%1$I;',
                          name, columns) ELSE '' END, '')
          INTO statements FROM pristine._table;
        EXECUTE format('CREATE FUNCTION pristine.refill() RETURNS void LANGUAGE plpgsql AS $$ BEGIN %s END $$',
                       statements);
    END $do$;

    -- False when the schema is another than at the beginning. No trigger and no foreign key is asked.
    CREATE FUNCTION pristine.restore(most_bytes bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM pristine._change)
           OR (SELECT sum(pg_table_size(id)) > most_bytes FROM pristine._table) THEN
            RETURN false;
        END IF;
        SET LOCAL session_replication_role = replica;
        PERFORM pristine.refill();
        PERFORM setval(id, value, called) FROM pristine._sequence;
        RETURN true;
    END $$;

    CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION pristine.note();
"""

END_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> ALL ($1::int[]) AND backend_type = 'client backend'
"""

RESTORE = "SELECT pristine.restore($1)"

CONNECTIONS = 5

_numbers = itertools.count()


async def make_template(cluster_dsn: str) -> None:
    await command(cluster_dsn, f"CREATE DATABASE {TEMPLATE}")
    await migrate(database_dsn(cluster_dsn, TEMPLATE), SQL)
    await command(database_dsn(cluster_dsn, TEMPLATE), KEEP_THE_BEGINNING)


class Lent:
    """A freshly migrated database, with pools that are opened on first use."""

    def __init__(self, name: str, dsn: str) -> None:
        self.name = name
        self.dsn = dsn
        self._served = 0
        self._database: Database | None = None

    async def database(self) -> Database:
        if self._database is None:
            self._database = await Database.open(self.dsn, http_connections=CONNECTIONS, run_connections=CONNECTIONS)
        return self._database

    async def restore(self) -> bool:
        """Restore the database for the next test. Returns False if it cannot be reused."""
        self._served += 1
        if self._served == MAX_TESTS or not all(map(_is_at_rest, self._pools())):
            return False
        try:
            async with contextlib.AsyncExitStack() as held:
                every = [pool.acquire() for pool in self._pools() for _ in range(pool.get_size())]
                kept = [await held.enter_async_context(loan) for loan in every]
                if not kept:
                    kept = [await asyncpg.connect(self.dsn)]
                    held.push_async_callback(kept[0].close)
                return await _restore(*kept)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, BookgenError, OSError):
            return False  # the test may have dropped it or forbidden connections

    def close(self) -> None:
        for pool in self._pools():
            pool.terminate()

    def _pools(self) -> list[Pool]:
        return [self._database.http, self._database.runs, self._database.lease] if self._database else []


class Databases:
    """The databases of one test process."""

    def __init__(self, cluster_dsn: str) -> None:
        self._cluster_dsn = cluster_dsn
        self._free: list[Lent] = []

    @contextlib.asynccontextmanager
    async def lent(self) -> AsyncIterator[Lent]:
        """Lend a database to one test."""
        lent = self._free.pop() if self._free else await self._made()
        yield lent
        if await lent.restore():
            self._free.append(lent)
        else:
            lent.close()
            await _drop(self._cluster_dsn, lent.name)

    def close(self) -> None:
        for lent in self._free:
            lent.close()

    async def _made(self) -> Lent:
        name = await _new(self._cluster_dsn, TEMPLATE)
        return Lent(name, database_dsn(self._cluster_dsn, name))


@contextlib.asynccontextmanager
async def empty_database(cluster_dsn: str, template: str = "template1") -> AsyncIterator[str]:
    """The DSN of a database without a schema, for one test. `template` may be followed by options."""
    name = await _new(cluster_dsn, template)
    yield database_dsn(cluster_dsn, name)
    await _drop(cluster_dsn, name)


async def command(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


def database_dsn(cluster_dsn: str, name: str) -> str:
    return cluster_dsn.replace("/postgres?", f"/{name}?")


async def _new(cluster_dsn: str, template: str) -> str:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    await command(cluster_dsn, f"CREATE DATABASE {name} TEMPLATE {template}")
    return name


async def _drop(cluster_dsn: str, name: str) -> None:
    await command(cluster_dsn, f"DROP DATABASE {name} WITH (FORCE)")


def _is_at_rest(pool: Pool) -> bool:
    """Reset a pool to its initial state: no connection is lent and no caller waits."""
    return not pool.is_closing() and not pool.in_use and pool.get_idle_size() == pool.get_size()


async def _restore(*kept: asyncpg.Connection) -> bool:
    """End all other sessions on the database."""
    await kept[0].execute(END_OTHERS, [connection.get_server_pid() for connection in kept])
    for connection in kept:
        await connection.execute("RESET ALL")  # a test may have changed settings
    return bool(await kept[0].fetchval(RESTORE, MAX_BYTES))
