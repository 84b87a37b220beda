"""Real faults of the service fire their alerts, each by what the metrics said before and after it.

`BookgenDown` needs no metric of ours, and `BookgenDiskFills` a disk that fills for hours; promtool alone plays these.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bookgen import metrics
from bookgen.accounts.mailing import Mailing
from bookgen.actors import lease
from bookgen.actors.resources import LeaseState
from bookgen.http.edge.watchdog import BEAT_SECONDS, Watchdog
from bookgen.http.outside import gauges
from bookgen.models import ProcessRole
from bookgen.providers.smtp import SmtpMailer
from bookgen.render.pool import RenderPool
from bookgen.services.backup_schedule import BackupPlan, BackupSchedule
from bookgen.store import backups
from bookgen.store.backups import BackupRecord
from bookgen.store.database import Database
from tests.deploy.firing import ALERTS, Series, fire, samples
from tests.fakes.model_script import fault
from tests.fakes.model_server import ModelServer
from tests.http.conftest import Api, OpenApi, open_api, pause, serving
from tests.providers.calls import anthropic, chapter_request, steady

__all__ = ["open_api"]

pytestmark = pytest.mark.checker("promtool")
FAILED = 'bookgen_backups_total{instance="one",outcome="failed"}'
PLAYED_BY_PROMTOOL_ALONE = {"BookgenDown", "BookgenDiskFills"}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scrape reads the database."""
    monkeypatch.setattr(gauges, "FRESH_SECONDS", 0.0)
    for gauge in (metrics.MAIL_FAILING, metrics.WAITING_RUNS):  # an earlier test may have left a reason or a model
        gauge.clear()


async def scraped(api: Api) -> Series:
    await api.get("/metrics", prefix="")
    return samples()


async def judged(expected: list[str], before: Series, after: Series, folder: Path) -> None:
    await asyncio.to_thread(fire, expected, before, after, folder)


async def test_failing_runs_guessed_passwords_refused_mail_and_outages(
    database: Database, open_api: OpenApi, tmp_path: Path
) -> None:
    async with ModelServer() as server:
        server.script(fault("status", status=400, stage="chapter", times=99))
        failing = steady(anthropic(server), tries=9)
        api = await (await open_api(model=failing)).as_new_account("ada")
        await backups.record(database.http, BackupRecord(await database.http.fetchval("SELECT now()"), True, 1, "x"))
        before = await scraped(api)

        await _runs_fail(api)
        await _passwords_are_guessed(api)
        await _letters_are_refused(database)
        await database.http.execute("DELETE FROM backup")
        full = await open_api(least_free=1 << 60)
        await scraped(full)
        await _provider_is_away(server, failing)
        await database.http.close()
        answers = await asyncio.gather(*(api.get("/books/") for _ in range(20)))
        assert {answer.status for answer in answers} == {503}

        expected = [
            "BookgenRunsFail", "BookgenSignInsFail", "BookgenMailFails", "BookgenMailWaits", "BookgenBackupOld",
            "BookgenDiskAlmostFull", "BookgenModelAway", "BookgenDatabaseDown", "BookgenRequestsFail",
        ]  # fmt: skip
        await judged(expected, before, await scraped(full), tmp_path)


async def test_a_server_without_actors(open_api: OpenApi, tmp_path: Path) -> None:
    web = await (await open_api(role=ProcessRole.WEB)).as_new_account("ada")
    book = await web.outlined()
    before = await scraped(web)

    assert (await web.post(f"/books/{book['id']}/generate/")).status == 202

    await judged(["BookgenNoActors", "BookgenRunsUnowned"], before, await scraped(web), tmp_path)


async def test_a_run_whose_model_is_no_longer_set(database: Database, tmp_path: Path) -> None:
    async with ModelServer() as server:
        server.script(fault("hold", stage="chapter"))
        async with serving(database, tmp_path, model=steady(anthropic(server)), drain_seconds=0) as former:
            api = await former.as_new_account("ada")
            book = await api.outlined()
            assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
            await server.until(lambda: any(call.stage == "chapter" for call in server.requests))

        async with serving(database, tmp_path) as offline:
            before = samples()
            await offline.services.supervisor.sweep()

            await judged(["BookgenRunsWaitForModel"], before, await scraped(offline), tmp_path)


async def test_a_provider_that_refuses_the_key(open_api: OpenApi, tmp_path: Path) -> None:
    async with ModelServer() as server:
        api = await (await open_api(model=steady(anthropic(server)))).as_new_account("ada")
        book = await api.outlined()
        before = await scraped(api)
        server.script(fault("status", status=401, times=99))

        await api.post(f"/books/{book['id']}/generate/")
        await _until(lambda: api.services.supervisor.resources.model.refusals)
        await api.services.supervisor.sweep()

        await judged(["BookgenModelRefuses"], before, await scraped(api), tmp_path)


async def test_a_cost_cap(open_api: OpenApi, tmp_path: Path) -> None:
    async with ModelServer() as server:
        api = await (await open_api(model=steady(anthropic(server)), book_cost_cap="0.01")).as_new_account("ada")
        book = await api.book()
        before = await scraped(api)

        assert (await api.post(f"/books/{book['id']}/generate-outline/")).status == 502

        await judged(["BookgenCostCapReached"], before, await scraped(api), tmp_path)


async def test_exports_that_take_too_long(open_api: OpenApi, tmp_path: Path) -> None:
    api = await (await open_api(pool=RenderPool(timeout=0.001))).as_new_account("ada")
    books = [await api.written() for _ in range(5)]
    before = await scraped(api)

    for book in books:
        assert (await api.post(f"/books/{book['id']}/export_epub/")).status >= 500

    await judged(["BookgenExportsFail"], before, await scraped(api), tmp_path)


async def test_backups_that_fail(database: Database, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    plan = BackupPlan(tmp_path / "a file" / "backups", every=86_400.0, keep=1)
    before = samples()

    for failures in (1, 2):  # the second one in the next process: a schedule tries again after a quarter of an hour
        async with BackupSchedule(database.direct_dsn, plan, lambda: True).working():
            await _until(lambda count=failures: samples().get(FAILED, 0.0) - before.get(FAILED, 0.0) == count)

    await judged(["BookgenBackupFails"], before, samples(), tmp_path)


async def test_a_backup_that_lacks_pictures(database: Database, open_api: OpenApi, tmp_path: Path) -> None:
    api, now = await open_api(), await database.http.fetchval("SELECT now()")
    before = await scraped(api)

    await backups.record(database.http, BackupRecord(now, True, 1, "x", missing=2))

    await judged(["BookgenBackupIncomplete"], before, await scraped(api), tmp_path)


async def test_requests_that_wait_for_connections(open_api: OpenApi, tmp_path: Path) -> None:
    api = await (await open_api()).as_new_account("ada")
    pool = api.services.database.http
    before = await scraped(api)

    async with contextlib.AsyncExitStack() as held:
        for _ in range(pool.get_max_size()):
            await held.enter_async_context(pool.acquire())
        waiting = asyncio.create_task(api.get("/books/"))
        await _until(lambda: pool.waiters)
        after = await scraped(api)
    assert (await waiting).status == 200

    await judged(["BookgenConnectionsExhausted"], before, after, tmp_path)


async def test_a_blocked_event_loop(tmp_path: Path) -> None:
    before = samples()

    async with Watchdog(metrics.LOOP_LAG.observe).watching():
        for _ in range(2):
            await asyncio.sleep(2 * BEAT_SECONDS)  # a beat begins
            time.sleep(0.8)  # noqa: ASYNC251 (the loop is to stand still)
        await asyncio.sleep(2 * BEAT_SECONDS)

    await judged(["BookgenEventLoopSlow"], before, samples(), tmp_path)


async def test_a_lease_that_cannot_be_renewed(
    open_api: OpenApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "FENCE_SECONDS", 1.0)
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.2)
    api = await open_api()
    resources = api.services.supervisor.resources
    before = await scraped(api)

    async with api.services.database.http.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM process FOR UPDATE")
        await _until(lambda: resources.lease_state is LeaseState.RUN_OUT)
        after = await scraped(api)

    await judged(["BookgenLeaseLost"], before, after, tmp_path)


async def _runs_fail(api: Api) -> None:
    for _ in range(3):
        book = await api.outlined()
        assert (await api.post(f"/books/{book['id']}/generate/")).status == 202
        await api.until(book["id"], "error")


async def _passwords_are_guessed(api: Api) -> None:
    visitor, guess = await api.as_nobody(), {"username": "ada", "password": "a guess"}
    answers = await asyncio.gather(*(visitor.post("/auth/login/", guess) for _ in range(60)))
    assert {answer.status for answer in answers} == {401, 429}


async def _letters_are_refused(database: Database) -> None:
    """By a mail server that has been away for two hours."""
    await database.http.execute("UPDATE mail SET created_at = created_at - interval '2 hours'")
    nowhere = SmtpMailer("smtp://127.0.0.1:1", sender="b@books.example")
    await Mailing(database.http, nowhere, public_url="http://books.example").deliver_due()


async def _provider_is_away(server: ModelServer, model: Any) -> None:
    """Leave the breaker open, with a probe that gets no answer."""
    server.forget_script()
    server.script(fault("drop", times=5), fault("hold"))
    known = len(server.requests)
    waits = asyncio.create_task(model.complete(chapter_request()))
    await server.until(lambda: len(server.requests) == known + 6)
    waits.cancel()
    await asyncio.wait([waits])


async def _until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not happened():
            await pause()


def test_every_alert_is_fired_by_a_fault() -> None:
    """Of the service, here, or of a machine, which promtool plays."""
    told = set(re.findall(r'"(Bookgen[A-Z]\w+)"', Path(__file__).read_text()))

    assert told == set(ALERTS)
