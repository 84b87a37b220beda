"""The service's role in the embedded database: it owns everything in it, and is no superuser.

A superuser reads files and starts programs on the machine; the service has no need of either. The superuser that made
the cluster is left to its owner, who finds its password in the data folder.
"""

from __future__ import annotations

import asyncpg

SUPERUSER = "bookgen"
SERVICE = "bookgen_service"

# A password of 256 random bits can't be guessed, however quickly it is tried; each try costs a client 4 ms otherwise,
# and ours is the event loop. Servers before 16 know no such setting.
HASH_ONCE = "SELECT set_config(name, '1', true) FROM pg_settings WHERE name = 'scram_iterations'"
EXISTS = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)"
GRANT_LOGIN = """
    SELECT format('%s ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD %L', $1::text, $2::text, $3::text)
"""

# What older versions made as the superuser. A column's own sequence goes with its table.
HAND_OVER = f"""
    DO $$
    DECLARE command text;
    BEGIN
        FOR command IN
            SELECT format('ALTER %s %s OWNER TO {SERVICE}', kind, name)
              FROM (SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
                           oid::regclass::text, relowner
                      FROM pg_class c
                     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
                       AND NOT EXISTS (SELECT FROM pg_depend d
                                        WHERE d.objid = c.oid AND c.relkind = 'S' AND d.deptype IN ('a', 'i')
                                          AND d.refobjsubid > 0)
                    UNION ALL
                    SELECT 'ROUTINE', oid::regprocedure::text, proowner
                      FROM pg_proc WHERE pronamespace = 'public'::regnamespace) AS found (kind, name, owner)
             WHERE owner <> '{SERVICE}'::regrole
        LOOP
            EXECUTE command;
        END LOOP;
        IF (SELECT datdba FROM pg_database WHERE datname = current_database()) <> '{SERVICE}'::regrole THEN
            EXECUTE format('ALTER DATABASE %I OWNER TO {SERVICE}', current_database());
        END IF;
    END $$
"""


async def give_to_service(superuser_dsn: str, password: str) -> None:
    """Makes the role with this password, or gives it this one, and hands it what it does not own yet."""
    connection = await asyncpg.connect(superuser_dsn, timeout=30)
    try:
        async with connection.transaction():
            await connection.execute(HASH_ONCE)
            verb = "ALTER" if await connection.fetchval(EXISTS, SERVICE) else "CREATE"
            await connection.execute(await connection.fetchval(GRANT_LOGIN, verb, SERVICE, password))
            await connection.execute(HAND_OVER)
    finally:
        await connection.close()
