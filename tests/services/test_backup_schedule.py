"""Scheduled backups: made by one process at a time and verified before the oldest are deleted."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from bookgen.files.keeping import Files
from bookgen.files.opened_places import Places
from bookgen.services import backup_schedule
from bookgen.services.backup_schedule import BackupPlan, BackupSchedule, rotate
from bookgen.store import backups
from bookgen.store.backups import BackupRecord
from bookgen.store.database import Database, connect_unbounded
from tests.actors.conftest import until
from tests.files.conftest import add_book, add_picture

PASSPHRASE = "a grey weighbridge in the rain"
OLD = [f"bookgen-2026010{day}T000000Z.backup" for day in range(1, 4)]


@pytest.fixture
def folder(tmp_path: Path, dsn: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The backup folder. The backup command gets the test's database and passphrase."""
    for name, value in (
        ("BOOKGEN_DATABASE_URL", dsn), ("BOOKGEN_DATA_DIR", str(tmp_path / "data")),
        ("BOOKGEN_BACKUP_PASSPHRASE", PASSPHRASE),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "backups"


def schedule(database: Database, folder: Path, **plan: Any) -> BackupSchedule:
    return BackupSchedule(
        database.direct_dsn, BackupPlan(folder, **{"every": 86_400.0, "keep": 2, **plan}), lambda: True
    )


def counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("bookgen_backups_total", {"outcome": outcome}) or 0.0


async def test_a_due_backup_is_made_and_verified_and_the_oldest_are_deleted(database: Database, folder: Path) -> None:
    folder.mkdir()
    for name in (*OLD, f"{OLD[0]}.partial", "mine.backup"):
        (folder / name).touch()
    service, before = schedule(database, folder), counted("ok")

    await service.look()
    await service.look()  # the next one is not due

    made = await backups.last_drilled(database.http)
    assert made is not None
    assert (made.drilled, made.missing) == (True, 0)
    assert sorted(path.name for path in folder.iterdir()) == [OLD[2], Path(made.file).name, "mine.backup"]
    assert counted("ok") - before == 1


async def test_a_failure_is_logged_and_counted_and_deletes_no_backup(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, log_lines: io.StringIO
) -> None:
    folder.mkdir()
    for name in OLD:
        (folder / name).touch()
    monkeypatch.setenv("BOOKGEN_BACKUP_PASSPHRASE", "short")
    service, before = schedule(database, folder), counted("failed")

    await service.look()
    await service.look()  # not again immediately

    assert counted("failed") - before == 1
    told = [json.loads(line) for line in log_lines.getvalue().splitlines() if "backup_failed" in line]
    assert ["BOOKGEN_BACKUP_PASSPHRASE" in line["reason"] for line in told] == [True]
    assert sorted(path.name for path in folder.iterdir()) == OLD


async def test_a_folder_that_cannot_be_used_is_reported_with_its_setting(
    database: Database, folder: Path, log_lines: io.StringIO
) -> None:
    folder.touch()
    in_a_file, before = folder / "backups", counted("failed")

    for failures, each in enumerate((folder, in_a_file), start=1):
        async with schedule(database, each).working():
            await until(lambda count=failures: counted("failed") - before == count)

    told = [json.loads(line) for line in log_lines.getvalue().splitlines() if "backup_failed" in line]
    assert [line["reason"] for line in told] == [
        f"BOOKGEN_BACKUP_DIR={each} can't be used: {folder} is not a folder." for each in (folder, in_a_file)
    ]


async def test_a_backup_without_a_missing_picture_is_a_warning_and_only_incomplete_ones_are_deleted(
    database: Database, folder: Path, log_lines: io.StringIO, tmp_path: Path
) -> None:
    folder.mkdir()
    for name in OLD:
        (folder / name).touch()
    pool, stored = database.http, tmp_path / "files"
    stored.mkdir()
    new = await Files(Places(), str(stored)).keep(pool, b"a picture")
    await add_picture(pool, await add_book(pool), new)
    next(path for path in stored.rglob("*") if path.is_file()).unlink()
    for name, missing in zip(OLD, (0, 1, 1), strict=True):
        made = BackupRecord(datetime(2026, 1, 1, tzinfo=UTC), drilled=True, bytes=1, file=f"{folder}/{name}")
        await backups.record(pool, replace(made, missing=missing))
    before = counted("incomplete")

    await schedule(database, folder).look()

    assert counted("incomplete") - before == 1
    told = [json.loads(line) for line in log_lines.getvalue().splitlines() if "backup_incomplete" in line]
    assert ["A picture of book" in line["reason"] for line in told] == [True]
    newest = await backups.last_drilled(pool)
    assert newest is not None
    assert newest.missing == 1
    assert sorted(path.name for path in folder.iterdir()) == [OLD[0], OLD[2], Path(newest.file).name]  # two are kept


async def test_only_one_process_makes_the_backup(database: Database, folder: Path) -> None:
    other = await connect_unbounded(database.direct_dsn)
    assert await backups.claim(other)

    await schedule(database, folder).look()

    assert not folder.exists()
    await other.close()


async def test_a_process_without_its_lease_makes_no_backup(database: Database, folder: Path) -> None:
    await BackupSchedule(database.direct_dsn, BackupPlan(folder, 1.0, 1), lambda: False).look()

    assert not folder.exists()


async def test_a_disk_without_space_for_the_verification_is_a_reported_failure(
    database: Database, folder: Path, log_lines: io.StringIO
) -> None:
    plan = BackupPlan(folder, 86_400.0, 1)

    await BackupSchedule(database.direct_dsn, plan, lambda: True, lambda: "The disk is almost full.").look()

    assert not folder.exists()
    told = [json.loads(line) for line in log_lines.getvalue().splitlines() if "backup_failed" in line]
    assert [line["reason"] for line in told] == ["The disk is almost full."]


async def test_only_verified_backups_in_the_same_folder_count(database: Database) -> None:
    record, pool = backups.record, database.http
    made_at = await pool.fetchval("SELECT now() - interval '2 hours'")

    await record(pool, backups.BackupRecord(made_at, False, 1, "/backups/one"))
    await record(pool, backups.BackupRecord(made_at, True, 1, "/elsewhere/two"))
    assert await backups.is_due(pool, "/backups", 86_400.0)

    await record(pool, backups.BackupRecord(made_at, True, 1, "/backups/three"))
    assert not await backups.is_due(pool, "/backups", 86_400.0)
    assert await backups.is_due(pool, "/backups", 3_600.0)


@pytest.mark.parametrize("seconds", [backup_schedule.END_SECONDS, 0.0], ids=["that ends", "that has to be killed"])
async def test_a_shutdown_ends_the_backup_and_leaves_no_partial_file(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(backup_schedule, "END_SECONDS", seconds)
    begun: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
    real = asyncio.create_subprocess_exec

    async def started(*given: Any, **options: Any) -> asyncio.subprocess.Process:
        process = await real(*given, **options)
        begun.put_nowait(process)
        return process

    monkeypatch.setattr(backup_schedule.asyncio, "create_subprocess_exec", started)
    async with schedule(database, folder).working():
        process = await begun.get()
        async with asyncio.timeout(30):
            while not [*folder.glob("*.partial")]:  # noqa: ASYNC110 (the signal is a file)
                await asyncio.sleep(0.001)

    assert process.returncode is not None
    assert [*folder.iterdir()] == []


def test_a_wrong_clock_does_not_delete_the_newest_backup(tmp_path: Path) -> None:
    for name in OLD:
        (tmp_path / name).touch()

    deleted = rotate(tmp_path, 1, tmp_path / OLD[0])

    assert sorted(path.name for path in deleted) == OLD[1:]
    assert (tmp_path / OLD[0]).exists()
