"""A database that fails over or stalls crashes nothing, and paid replies are kept until it is back."""

from __future__ import annotations

import pytest

from bookgen.actors.messages import Generate
from bookgen.actors.supervisor import Supervisor

from .conftest import BeginRun, Model, Shelf, on_connections, until

STALL = """
    CREATE TABLE stall (seconds float);
    INSERT INTO stall VALUES (0);
    CREATE FUNCTION stalling() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep((SELECT seconds FROM stall)); RETURN NEW; END $$;
    CREATE TRIGGER stalled_step BEFORE INSERT ON step FOR EACH ROW EXECUTE FUNCTION stalling();
    CREATE TRIGGER stalled_chapter BEFORE UPDATE OF content ON chapter FOR EACH ROW EXECUTE FUNCTION stalling();
"""


async def test_a_paid_reply_waits_until_a_read_only_server_accepts_writes_again(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, book = await begun()
    saw, seen = supervisor.resources.health.saw, []
    monkeypatch.setattr(supervisor.resources.health, "saw", lambda error: (saw(error), seen.append(error)))
    name = await shelf.value("SELECT current_database()")
    await shelf.pool.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    await on_connections(supervisor.resources.pool, "SET default_transaction_read_only = on")

    model.answer(book, 1)
    await until(lambda: len(seen) > 3)  # several retries
    unready, crashed = supervisor.unready, supervisor.crashes.crashed_books
    await shelf.pool.execute(f'SET default_transaction_read_only = off; ALTER DATABASE "{name}" RESET ALL')
    model.free = True

    await shelf.until_status(book, "completed")
    assert (unready, crashed) == ("The database cannot be reached.", 0)
    assert model.asked[book, 1] == 1
    assert await shelf.value("SELECT count(*) FROM model_call WHERE chapter_number = 1") == 1


async def test_connections_to_a_demoted_server_are_not_used_again(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    pairs = [await shelf.outlined() for _ in range(4)]
    for account, book in pairs:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    await on_connections(supervisor.resources.pool, "SET default_transaction_read_only = on", 3)

    model.free = True
    for _, book in pairs:
        model.answer(book, 1)

    for _, book in pairs:
        await shelf.until_status(book, "completed")
    assert set(model.asked.values()) == {1}
    assert supervisor.crashes.crashed_books == 0


async def test_a_statement_that_times_out_is_retried(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    _, book = await begun()
    await shelf.pool.execute(STALL)
    await on_connections(supervisor.resources.pool, "SET statement_timeout = '200ms'")
    await shelf.pool.execute("UPDATE stall SET seconds = 1")

    model.answer(book, 1)
    await until(lambda: not supervisor.resources.health.up)
    await shelf.pool.execute("UPDATE stall SET seconds = 0")
    model.free = True

    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == 1
    assert await shelf.value("SELECT count(*) FROM model_call WHERE chapter_number = 1") == 1
    assert supervisor.crashes.crashed_books == 0
