"""The rows of processes: which dead ones are kept."""

from __future__ import annotations

from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.store import processes

DIED = """
    INSERT INTO process (boot_id, host, pid, pid_started, lease_until)
    VALUES ($1, 'here', 1, '', now() - interval '1 hour')
"""

RUN = """
    WITH owner AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id), about AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 1, 100, '6x9', 'en' FROM owner RETURNING id, account_id)
    INSERT INTO run (id, book_id, account_id, status, mode, total, owner)
    SELECT gen_random_uuid(), id, account_id, $1, 'full', 1, $2 FROM about
"""


async def living(pool: asyncpg.Pool) -> UUID:
    """A process with a lease."""
    boot_id = uuid4()
    await processes.register(pool, boot_id, "here", 2, "", 30)
    return boot_id


async def died(pool: asyncpg.Pool, status: str) -> UUID:
    """A dead process and its run."""
    boot_id = uuid4()
    await pool.execute(DIED, boot_id)
    await pool.execute(RUN, status, boot_id)
    return boot_id


@pytest.mark.parametrize("status", ["completed", "stopped", "error"])
async def test_a_dead_process_is_deleted_once_it_has_no_runs(pool: asyncpg.Pool, status: str) -> None:
    await died(pool, status)

    await processes.prune(pool, await living(pool))

    assert await pool.fetchval("SELECT count(*) FROM process WHERE pid = 1") == 0


async def test_a_dead_process_is_kept_until_its_runs_are_taken_over(pool: asyncpg.Pool) -> None:
    boot_id = await died(pool, "running")

    await processes.prune(pool, await living(pool))

    assert await pool.fetchval("SELECT boot_id FROM process WHERE pid = 1") == boot_id


async def test_a_process_with_an_expired_lease_deletes_no_other(pool: asyncpg.Pool) -> None:
    boot_id, asker = await died(pool, "completed"), await living(pool)
    await processes.expire(pool, asker)

    await processes.prune(pool, asker)

    assert await pool.fetchval("SELECT boot_id FROM process WHERE pid = 1") == boot_id
