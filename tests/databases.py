"""Databases of the tests: clones of a migrated template, each lent to one test at a time and restored for the next.

To make a clone and to drop it takes ten times as long as to restore one: empty its tables, put back the rows that the
migrations make, set the sequences back. What a test did to the schema is not undone: such a clone is dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg

from bookgen.store.migrate import migrate

SQL = Path(__file__).parent.parent / "sql"
TEMPLATE = "bookgen_template"
# A table that grew keeps its pages, and every test after it would read them.
MOST_BYTES = 4 << 20
MOST_TESTS = 100

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
        SELECT c.relname AS name, to_regclass(format('pristine.%I', c.relname)) IS NOT NULL AS filled,
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

    -- False when the schema is another than at the beginning. No trigger and no foreign key is asked.
    CREATE FUNCTION pristine.restore(most_bytes bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE each pristine._table;
    BEGIN
        IF EXISTS (SELECT FROM pristine._change)
           OR (SELECT sum(pg_table_size(format('public.%I', name)::regclass)) > most_bytes FROM pristine._table) THEN
            RETURN false;
        END IF;
        SET LOCAL session_replication_role = replica;
        FOR each IN SELECT * FROM pristine._table LOOP
            EXECUTE format('DELETE FROM public.%I', each.name);
            IF each.filled THEN
                EXECUTE format('INSERT INTO public.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM pristine.%1$I',
                               each.name, each.columns);
            END IF;
        END LOOP;
        PERFORM setval(id, value, called) FROM pristine._sequence;
        RETURN true;
    END $$;

    CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION pristine.note();
"""

END_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""

RESTORE = "SELECT pristine.restore($1)"

_numbers = itertools.count()
_free: list[tuple[str, int]] = []  # of this process: names, and how many tests each has served


async def make_template(cluster_dsn: str) -> None:
    await command(cluster_dsn, f"CREATE DATABASE {TEMPLATE}")
    await migrate(database_dsn(cluster_dsn, TEMPLATE), SQL)
    await command(database_dsn(cluster_dsn, TEMPLATE), KEEP_THE_BEGINNING)


@contextlib.asynccontextmanager
async def migrated_database(cluster_dsn: str) -> AsyncIterator[str]:
    """The DSN of a database as the migrations leave it, for one test."""
    name, served = _free.pop() if _free else (await _new(cluster_dsn, TEMPLATE), 0)
    dsn = database_dsn(cluster_dsn, name)
    yield dsn
    if served < MOST_TESTS and await _restore(dsn):
        _free.append((name, served + 1))
    else:
        await _drop(cluster_dsn, name)


@contextlib.asynccontextmanager
async def empty_database(cluster_dsn: str) -> AsyncIterator[str]:
    """The DSN of a database without a schema, for one test."""
    name = await _new(cluster_dsn, "template1")
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


async def _restore(dsn: str) -> bool:
    try:
        connection = await asyncpg.connect(dsn)
    except asyncpg.PostgresError:  # the test may have dropped it, or barred the way in
        return False
    try:
        await connection.execute(END_OTHERS)
        return bool(await connection.fetchval(RESTORE, MOST_BYTES))
    finally:
        await connection.close()
