"""What model calls have used is entered in the ledger, whatever becomes of the work that was paid for."""

from __future__ import annotations

from bookgen.actors.messages import Generate, Stop
from bookgen.errors import UpstreamAIError
from bookgen.models import Usage
from bookgen.providers.text import Spent
from bookgen.store.database import Database

from .conftest import Model, Shelf, supervising

WAITS = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'INTO model_call')"


async def test_what_a_failed_call_has_used_is_entered_although_its_run_is_stopped_meanwhile(
    database: Database, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=1)
    used = (Spent("scripted", Usage(calls=1, input_tokens=10, output_tokens=20)),)
    async with supervising(database, model, model.write_chapter) as supervisor:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
        async with shelf.pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE model_call IN EXCLUSIVE MODE")
            failure = UpstreamAIError("It failed.", stage="chapter", retryable=False, chapter_number=1, spent=used)
            model.fail(book, 1, retryable=False, error=failure)
            await shelf.until(WAITS)

            await supervisor.ask(account, book, Stop())

        await shelf.until("SELECT count(*) = 1 FROM model_call WHERE output_tokens = 20")

    assert (await shelf.run(book))["status"] == "stopped"
