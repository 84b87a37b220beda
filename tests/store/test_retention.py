"""Old rows that are no longer needed are deleted, and no others."""

from __future__ import annotations

import asyncpg

from bookgen.store.retention import delete_old_rows

EVENTS = """
    INSERT INTO payment_event (id, type, payload, created_at, received_at, applied_at)
    SELECT name, 'x', '{}', t, t, CASE WHEN name <> 'waiting' THEN t END
      FROM (VALUES ('old', now() - interval '181 days'), ('waiting', now() - interval '181 days'),
                   ('new', now() - interval '179 days')) AS rows (name, t)
"""

CHECKOUTS = """
    INSERT INTO checkout (key, kind, slug, billing, amount_cents, status, updated_at)
    SELECT gen_random_uuid(), 'plan', 'pro', 'monthly', 100, status, now() - days * interval '1 day'
      FROM (VALUES ('open', 91), ('expired', 91), ('failed', 91), ('open', 89), ('paid', 91), ('refunded', 91))
           AS rows (status, days)
"""

KEYS = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id)
    INSERT INTO idempotency_key (account_id, key, request, owner, started_at)
    SELECT id, hours::text, '', gen_random_uuid(), now() - hours * interval '1 hour'
      FROM writer, unnest('{23, 25}'::int[]) AS hours
"""

AUDIT = """
    INSERT INTO audit (actor, action, created_at)
    VALUES ('ada', 'old', now() - interval '2 years 1 day'), ('ada', 'new', now() - interval '1 year 364 days')
"""

RUNS = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id), title AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 1, 100, '6x9', 'en' FROM writer, generate_series(1, 3) RETURNING id, account_id
    ), numbered AS (SELECT *, row_number() OVER (ORDER BY id) AS n FROM title), failed AS (
        INSERT INTO run (id, book_id, account_id, status, mode, total, epoch, finished_at)
        SELECT gen_random_uuid(), id, account_id, CASE n WHEN 3 THEN 'paused' ELSE 'error' END, 'full', 1, 1,
               CASE n WHEN 1 THEN now() - interval '91 days' WHEN 2 THEN now() - interval '89 days' END
          FROM numbered RETURNING id, book_id)
    INSERT INTO step (book_id, key, run_id, stage, chapter_number, reply)
    SELECT book_id, 'key', id, 'chapter', 1, '{}' FROM failed
"""


async def test_applied_events_are_deleted_after_half_a_year(pool: asyncpg.Pool) -> None:
    await pool.execute(EVENTS)

    await delete_old_rows(pool)

    assert {row["id"] for row in await pool.fetch("SELECT id FROM payment_event")} == {"waiting", "new"}


async def test_unpaid_checkouts_are_deleted_after_90_days(pool: asyncpg.Pool) -> None:
    await pool.execute(CHECKOUTS)

    await delete_old_rows(pool)

    assert sorted(row["status"] for row in await pool.fetch("SELECT status FROM checkout")) == [
        "open", "paid", "refunded",
    ]  # fmt: skip


async def test_audit_entries_are_deleted_after_two_years(pool: asyncpg.Pool) -> None:
    await pool.execute(AUDIT)

    await delete_old_rows(pool)

    assert await pool.fetchval("SELECT array_agg(action) FROM audit") == ["new"]


async def test_the_replies_of_a_run_that_failed_long_ago_are_deleted_and_others_are_kept(pool: asyncpg.Pool) -> None:
    await pool.execute(RUNS)

    await delete_old_rows(pool)

    left = await pool.fetch("SELECT r.status, r.finished_at FROM step s JOIN run r ON r.id = s.run_id")
    assert sorted(row["status"] for row in left) == ["error", "paused"]


async def test_a_locked_row_is_skipped(pool: asyncpg.Pool) -> None:
    await pool.execute(AUDIT)
    async with pool.acquire() as other, other.transaction():
        await other.execute("SELECT FROM audit WHERE action = 'old' FOR UPDATE")

        await delete_old_rows(pool)

        assert await pool.fetchval("SELECT count(*) FROM audit") == 2
    await delete_old_rows(pool)
    assert await pool.fetchval("SELECT count(*) FROM audit") == 1


async def test_idempotency_keys_are_deleted_after_a_day(pool: asyncpg.Pool) -> None:
    await pool.execute(KEYS)

    await delete_old_rows(pool)

    assert [row["key"] for row in await pool.fetch("SELECT key FROM idempotency_key")] == ["23"]


async def test_registration_counts_of_earlier_days_are_deleted(pool: asyncpg.Pool) -> None:
    await pool.execute("INSERT INTO registration VALUES ('a', current_date, 1), ('b', current_date - 1, 1)")

    await delete_old_rows(pool)

    assert [row["network"] for row in await pool.fetch("SELECT network FROM registration")] == ["a"]
