"""The metrics about books, models, letters and the database, over the API."""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bookgen.http.outside import gauges
from bookgen.store import metric_figures
from bookgen.store.database import Database
from tests.composition import composed
from tests.http.conftest import PASSWORD, Api, OpenApi

PAGE = Path(__file__).parents[2] / "docs/operate.md"
ADDRESS = r"(?P<host>[0-9a-fA-F.:]+)"  # what fail2ban puts in the place of <HOST>

Sample = tuple[str, frozenset[tuple[str, str]]]


async def scraped(api: Api) -> dict[Sample, float]:
    """All samples of a scrape, by name and labels."""
    text = (await api.get("/metrics", prefix="")).raw.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def sample(name: str, **labels: str) -> Sample:
    return name, frozenset(labels.items())


async def test_writing_and_exporting_a_book_shows_in_the_metrics(api: Api) -> None:
    before = await scraped(api)

    book = await api.written()
    assert (await api.post(f"/books/{book['id']}/export_epub/", {"settings": {}})).status == 200

    after = await scraped(api)
    offline = {"provider": "offline", "model": "offline"}
    grown = {
        one: after[one] - before.get(one, 0.0)
        for one in (
            sample("bookgen_runs_ended_total", state="completed", code=""),
            sample("bookgen_chapter_seconds_count"),
            sample("bookgen_words_written_total"),
            sample("bookgen_exports_total", format="epub", outcome="ok"),
            sample("bookgen_export_seconds_count", format="epub"),
        )
    }
    assert list(grown.values()) == [1, 2, book["word_count"], 1, 1]
    for one in (
        sample("bookgen_model_calls_total", **offline, outcome="ok"),
        sample("bookgen_model_call_seconds_count", **offline),
        sample("bookgen_model_tokens_total", **offline, kind="output"),
    ):
        assert after[one] > before.get(one, 0.0)
    assert after[sample("bookgen_database_up")] == after[sample("bookgen_lease_held")] == 1
    assert 0 < after[sample("bookgen_lease_remaining_seconds")] <= 20
    assert 0 < after[sample("bookgen_disk_free_bytes")] <= after[sample("bookgen_disk_size_bytes")]
    assert after[sample("bookgen_database_connections_max", pool="http")] >= 1


ROWS = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('eve', 'eve@example.com') RETURNING id), title AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 1, 100, '6x9', 'en' FROM writer, generate_series(1, 3) RETURNING id, account_id
    ), numbered AS (SELECT *, row_number() OVER (ORDER BY id) AS n FROM title), letters AS (
        INSERT INTO mail (purpose, email, created_at, due_at)
        SELECT 'receipt', 'eve@example.com', now() - n * interval '1 hour', now() + interval '1 day' FROM numbered
    ), drills AS (
        INSERT INTO backup (made_at, drilled, bytes, file, missing)
        VALUES (now() - interval '2 days', true, 1, 'old', 5), (now() - interval '1 day', true, 1, 'new', 2),
               (now() - interval '1 hour', false, 1, 'not drilled', 7))
    INSERT INTO run (id, book_id, account_id, status, mode, total, updated_at)
    SELECT gen_random_uuid(), id, account_id, CASE n WHEN 1 THEN 'paused' ELSE 'queued' END, 'full', 1,
           now() - n * interval '10 minutes' FROM numbered
"""


async def test_queue_sizes_and_ages_cover_all_processes(open_api: OpenApi) -> None:
    api = await open_api()
    pool = api.services.database.http
    assert (await metric_figures.read(pool)).backup_age is None
    api.services.supervisor.resources.awaits_operator = True  # so that no run is started
    await pool.execute(ROWS)

    read = await scraped(api)

    assert {state: read[sample("bookgen_runs", state=state)] for state in ("queued", "running", "paused")} == {
        "queued": 2, "running": 0, "paused": 1,
    }  # fmt: skip
    assert 1_800 <= read[sample("bookgen_run_oldest_wait_seconds")] < 2_400
    assert read[sample("bookgen_mail_queued")] == 3
    assert 3_600 <= read[sample("bookgen_mail_oldest_wait_seconds")] < 4 * 3_600
    assert 86_400 <= read[sample("bookgen_backup_age_seconds")] < 90_000
    assert read[sample("bookgen_backup_missing_pictures")] == 2
    assert read[sample("bookgen_processes")] == 1


async def test_the_service_makes_backups_only_if_a_folder_is_configured(database: Database, tmp_path: Path) -> None:
    async with composed(database, tmp_path) as service:
        assert service.backups is None
    given = {"backup_dir": tmp_path / "backups", "backup_passphrase": "a grey weighbridge"}
    async with composed(database, tmp_path, **given) as service:
        assert service.backups is not None


async def test_without_a_verified_backup_its_age_is_infinite(visitor: Api) -> None:
    assert (await scraped(visitor))[sample("bookgen_backup_age_seconds")] == math.inf


async def test_concurrent_scrapes_read_the_database_once(visitor: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[object] = []
    real = metric_figures.read

    async def counting(db: object) -> object:
        reads.append(db)
        return await real(db)  # type: ignore[arg-type]

    monkeypatch.setattr(metric_figures, "read", counting)
    await asyncio.gather(*(scraped(visitor) for _ in range(10)))
    assert len(reads) == 1

    monkeypatch.setattr(gauges, "FRESH_SECONDS", 0.0)
    await scraped(visitor)
    assert len(reads) == 2


async def test_without_its_database_the_metrics_endpoint_answers_and_says_so(visitor: Api) -> None:
    await visitor.services.database.http.close()

    read = await scraped(visitor)

    assert read[sample("bookgen_database_up")] == 0
    assert read[sample("bookgen_event_loop_tasks")] > 0


MANY = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('eve', 'eve@example.com') RETURNING id), title AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 1, 100, '6x9', 'en' FROM writer, generate_series(1, 3000) RETURNING id, account_id)
    INSERT INTO run (id, book_id, account_id, status, mode, total)
    SELECT gen_random_uuid(), id, account_id, 'completed', 'full', 1 FROM title
"""


async def test_the_metrics_query_scans_no_table_that_grows(visitor: Api) -> None:
    async with visitor.services.database.http.acquire() as connection:
        await connection.execute(MANY)
        await connection.execute("ANALYZE run")

        plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {metric_figures.READ}", 10_000)

    scanned = {
        node["Relation Name"] for node in nodes_of(json.loads(plan)[0]["Plan"]) if node["Node Type"] == "Seq Scan"
    }
    assert not scanned & {"run", "backup", "book", "account"}


def nodes_of(plan: dict[str, object]) -> list[dict[str, str]]:
    below = plan.get("Plans", [])
    assert isinstance(below, list)
    return [plan, *(node for child in below for node in nodes_of(child))]  # type: ignore[list-item]


def failregex() -> re.Pattern[str]:
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith("failregex = "))
    return re.compile(line.removeprefix("failregex = ").replace("<HOST>", ADDRESS))


async def test_the_fail2ban_filter_in_the_docs_matches_every_failed_sign_in(api: Api, log_lines: io.StringIO) -> None:
    visitor = await api.as_nobody()
    wrong = {"username": "ada", "password": f"not {PASSWORD}"}
    forged = {"username": '","address":"192.0.2.66","event":"sign_in_failed', "password": "x"}

    refused = [(await visitor.post("/auth/login/", body)).status for body in (wrong, forged)]
    refused.append((await visitor.post("/auth/magic-login/MQ/nothing/")).status)
    assert (await visitor.post("/auth/login/", {**wrong, "password": PASSWORD})).status == 200

    assert refused == [401, 401, 400]
    found = [match["host"] for line in log_lines.getvalue().splitlines() if (match := failregex().search(line))]
    assert found == ["127.0.0.1"] * 3
    told = [json.loads(line) for line in log_lines.getvalue().splitlines() if "sign_in_failed" in line]
    assert [(line["name"], line["way"]) for line in told] == [
        ("ada", "password"), (forged["username"], "password"), ("", "link"),
    ]  # fmt: skip
