"""The service's role in the embedded database. It owns everything in the database, but is not a superuser.

A superuser can read files and start programs on the machine, which the service does not need. The operator can use the
cluster's superuser; its password is in the data folder.
"""

from __future__ import annotations

import asyncpg

SUPERUSER = "bookgen"
SERVICE = "bookgen_service"

# One hash iteration: a password of 256 random bits cannot be guessed, however fast the guesses are. With the default,
# each login would cost the client, which is our event loop, 4 ms. Servers before 16 do not have the setting.
HASH_ONCE = "SELECT set_config(name, '1', true) FROM pg_settings WHERE name = 'scram_iterations'"
EXISTS = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)"
GRANT_LOGIN = """
    SELECT format('%s ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD %L', $1::text, $2::text, $3::text)
"""

# Changes the owner of objects that older versions of bookgen created as the superuser. A sequence that belongs to a
# column is left out: it changes its owner together with the table.
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
    """Create the service's role or set its password, and make it the owner of everything in the database."""
    connection = await asyncpg.connect(superuser_dsn, timeout=30)
    try:
        async with connection.transaction():
            await connection.execute(HASH_ONCE)
            verb = "ALTER" if await connection.fetchval(EXISTS, SERVICE) else "CREATE"
            await connection.execute(await connection.fetchval(GRANT_LOGIN, verb, SERVICE, password))
            await connection.execute(HAND_OVER)
    finally:
        await connection.close()
