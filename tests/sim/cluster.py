"""A PostgreSQL for the simulation, whose database is emptied between schedules."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg

from bookgen.store.migrate import migrate
from bookgen.store.postgres.embedded import EmbeddedPostgres
from tests.databases import SQL, database_dsn
from tests.sim import recorder
from tests.sim.postgres import EPOCH, Postgres

# No background activity at uncontrolled times.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "deadlock_timeout": "1h",
    "max_connections": "200",
}
DATABASE = "simulated"
_numbers = itertools.count(1)
MEMORY = Path("/dev/shm")  # nothing here needs to be durable
CLOCK = f"""
    CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT to_timestamp(coalesce(nullif(current_setting('sim.now', true), ''), '{EPOCH}')::float8) $$
"""
# Rows from the migrations stay. Tables filled by a schedule are emptied, including their pages.
PREPARE = """
    CREATE SCHEMA kept;
    DO $$
    DECLARE name text; filled boolean;
    BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
            IF filled THEN
                EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', name, name);
            END IF;
        END LOOP;
    END $$;

    CREATE FUNCTION kept.restore() RETURNS void LANGUAGE plpgsql AS $$
    DECLARE name text; columns text; filled boolean; emptied text[] := '{}';
    BEGIN
        SET LOCAL session_replication_role = replica;
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
                    EXCEPT SELECT tablename FROM pg_tables WHERE schemaname = 'kept' ORDER BY 1 LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
            IF filled THEN
                emptied := emptied || format('public.%I', name);
            END IF;
        END LOOP;
        IF cardinality(emptied) > 0 THEN
            EXECUTE 'TRUNCATE ' || array_to_string(emptied, ', ') || ' RESTART IDENTITY CASCADE';
        END IF;
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'kept' LOOP
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', name) INTO filled;
            IF filled THEN
                SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
                 WHERE attrelid = format('public.%I', name)::regclass AND attnum > 0 AND NOT attisdropped
                   AND attgenerated = '';
                EXECUTE format('INSERT INTO public.%1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM kept.%1$I',
                               name, columns);
            END IF;
        END LOOP;
    END $$;
"""
RESTORE = f"""
    SELECT kept.restore();
    {recorder.FORGET};
    ALTER SEQUENCE run_queue RESTART;
    ALTER TABLE run DROP COLUMN IF EXISTS of_a_newer_version
"""


@contextlib.contextmanager
def cluster(bindir: Path | None = None) -> Iterator[str]:
    """The DSN of the superuser. Any local user who may use the socket is trusted."""
    folder = Path(tempfile.mkdtemp(prefix="bookgen-simulation-", dir=MEMORY if MEMORY.is_dir() else None))
    server = EmbeddedPostgres(folder, bindir, settings=SETTINGS)

    async def start() -> str:
        await server.start()
        for rules in folder.glob("pg*/pg_hba.conf"):
            rules.write_text("local all all trust\n")
        connection = await asyncpg.connect(server.superuser_dsn)
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()
        return server.superuser_dsn

    try:
        yield asyncio.run(start())
    finally:
        asyncio.run(server.stop())
        shutil.rmtree(folder, ignore_errors=True)


async def make_database(cluster_dsn: str) -> str:
    """The DSN of a migrated database that uses the virtual clock."""
    connection = await asyncpg.connect(cluster_dsn)
    name = f"{DATABASE}_{os.getpid()}_{next(_numbers)}"
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.execute(f"ALTER DATABASE {name} SET search_path = public, pg_catalog")
    await connection.close()
    dsn = database_dsn(cluster_dsn, name)
    connection = await asyncpg.connect(dsn)
    await connection.execute(CLOCK)
    await connection.close()
    await migrate(dsn, SQL)
    connection = await asyncpg.connect(dsn)
    await connection.execute(PREPARE)
    await connection.execute(recorder.RECORDER)
    await connection.close()
    return dsn


def open_postgres(dsn: str) -> Postgres:
    parts = urlsplit(dsn)
    where = parse_qs(parts.query)
    address = f"{where['host'][0]}/.s.PGSQL.{where['port'][0]}"
    return Postgres(address, parts.username or "", parts.path.lstrip("/"), RESTORE)
