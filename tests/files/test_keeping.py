"""A file is written before its row and removed after it; in between, no connection is held."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from bookgen.errors import FilesUnavailable
from bookgen.files.cleanup import FileCleanup, KeepTimes, sweep
from bookgen.files.keeping import Files
from bookgen.files.opened_places import Places
from bookgen.store import covers, exports, media, stored_files
from bookgen.store.database import connect_unbounded
from bookgen.store.exports import ExportLimits
from bookgen.store.stored_files import NewFile
from tests.fakes.s3_server import S3Server
from tests.files.conftest import PICTURE, add_picture, states

AN_HOUR_AGO = "UPDATE export_file SET created_at = now() - interval '1 hour'"
A_WEEK_AGO = "UPDATE stored_file SET created_at = now() - interval '8 days'"


async def test_a_file_is_written_after_its_own_row_and_before_the_row_that_names_it(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int
) -> None:
    seen: list[tuple[list[str], int]] = []

    async def look(_method: str, _key: str) -> None:
        seen.append((await states(pool), pool.in_use))

    server.before = look
    new = await files.keep(pool, PICTURE)
    key = await add_picture(pool, book_id, new)

    assert seen == [(["new"], 0)]
    assert await states(pool) == ["used"]
    assert await files.picture(pool, key) == PICTURE


async def test_no_connection_is_held_while_a_file_is_read(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int
) -> None:
    key = await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    held: list[int] = []

    async def look(_method: str, _key: str) -> None:
        held.append(pool.in_use)

    server.before = look
    await files.picture(pool, key)

    assert held == [0]


async def test_a_row_takes_no_file_that_is_being_removed_and_no_file_twice(
    pool: asyncpg.Pool, files: Files, book_id: int
) -> None:
    taken, discarded = await files.keep(pool, PICTURE), await files.keep(pool, PICTURE)
    await add_picture(pool, book_id, taken)
    await files.discard(pool, discarded)

    for each in (taken, discarded):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await add_picture(pool, book_id, each)


@pytest.mark.parametrize(
    "goes",
    ["DELETE FROM media; DELETE FROM export_file", "DELETE FROM book", "DELETE FROM account WHERE username = 'ada'"],
)
async def test_a_file_goes_with_its_row_however_the_row_goes(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int, goes: str
) -> None:
    await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    await files.keep_export(pool, book_id, "digest", "pdf", b"%PDF")

    await pool.execute(goes)
    await sweep(pool, files)

    assert not server.objects
    assert await states(pool) == []


async def test_a_file_whose_row_never_came_is_removed_after_some_days(
    pool: asyncpg.Pool, files: Files, server: S3Server
) -> None:
    await files.keep(pool, PICTURE)
    await sweep(pool, files)
    assert len(server.objects) == 1

    await pool.execute(A_WEEK_AGO)
    await sweep(pool, files)

    assert not server.objects
    assert await states(pool) == []


async def test_a_crash_between_a_file_and_its_row_leaves_what_the_next_sweep_removes(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int
) -> None:
    await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    await pool.execute("DELETE FROM media")
    gone = asyncio.Event()

    async def die(method: str, _key: str) -> None:
        if method == "DELETE" and not gone.is_set():
            gone.set()
            await asyncio.Event().wait()

    server.before = die
    sweeping = asyncio.create_task(sweep(pool, files))
    await gone.wait()
    sweeping.cancel()
    await asyncio.wait([sweeping])
    assert await states(pool) == ["unused"]

    assert await sweep(pool, files) == 1
    assert await states(pool) == []
    assert not server.objects


async def test_a_place_that_is_away_keeps_its_files_listed_and_the_others_are_swept(
    pool: asyncpg.Pool, files: Files, places: Places, server: S3Server, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    in_folder = Files(places, str(tmp_path / "files"))
    for each in (in_folder, files, in_folder):
        await each.discard(pool, await each.keep(pool, PICTURE))
    (tmp_path / "files").rename(tmp_path / "unmounted")

    assert await sweep(pool, files) == 1
    assert await states(pool) == ["unused", "unused"]
    (tmp_path / "unmounted").rename(tmp_path / "files")
    assert await sweep(pool, files) == 2

    assert not server.objects
    assert not [path for path in (tmp_path / "files").rglob("*") if path.is_file()]


async def test_no_file_is_removed_while_a_backup_may_read_it(
    pool: asyncpg.Pool, files: Files, server: S3Server, dsn: str, book_id: int
) -> None:
    await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    backup = await connect_unbounded(dsn)
    await stored_files.hold_for_backup(backup)
    await pool.execute("DELETE FROM media")

    assert await sweep(pool, files) == 0
    assert len(server.objects) == 1

    await backup.close()
    while not await sweep(pool, files):  # noqa: ASYNC110 (the server ends the session on its own)
        await asyncio.sleep(0.01)
    assert not server.objects


async def test_a_file_that_moves_while_it_is_read_is_read_where_it_is_then(
    pool: asyncpg.Pool, files: Files, places: Places, server: S3Server, tmp_path: Path, book_id: int
) -> None:
    key = await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    elsewhere = Files(places, str(tmp_path))

    async def move(_method: str, key_of_object: str) -> None:
        server.before = None
        server.objects.pop(key_of_object)
        new = await elsewhere.keep(pool, PICTURE)
        await pool.execute("UPDATE media SET file_id = $1", new.file_id)

    server.before = move

    assert await files.picture(pool, key) == PICTURE


async def test_a_file_that_is_lost_is_no_picture_and_a_new_export(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int
) -> None:
    key = await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    await files.keep_export(pool, book_id, "digest", "pdf", b"%PDF")
    server.objects.clear()

    assert await files.picture(pool, key) is None
    assert await files.export(pool, book_id, "digest") is None

    await files.keep_export(pool, book_id, "digest", "pdf", b"%PDF again")
    assert await files.export(pool, book_id, "digest") == b"%PDF again"


async def test_an_export_is_made_and_not_kept_while_its_place_is_away(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int
) -> None:
    server.broken = 403

    await files.keep_export(pool, book_id, "digest", "pdf", b"%PDF")

    assert await files.export(pool, book_id, "digest") is None
    assert await pool.fetchval("SELECT count(*) FROM export_file") == 0
    with pytest.raises(FilesUnavailable):
        await files.keep(pool, PICTURE)


async def test_old_exports_take_their_files_along(
    pool: asyncpg.Pool, places: Places, server: S3Server, book_id: int
) -> None:
    files = Files(places, "s3://books", ExportLimits(files_per_book=2, bytes_per_account=100))
    for at, body in enumerate((b"x" * 10, b"x" * 20, b"x" * 30, b"x" * 90)):
        await files.keep_export(pool, book_id, f"file {at}", "pdf", body)
        await files.keep_export(pool, book_id, f"file {at}", "pdf", body)  # as two processes do
    await sweep(pool, files)

    assert [len(body) for body in server.objects.values()] == [90]


async def test_an_export_is_kept_for_its_time(pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int) -> None:
    cleanup = FileCleanup(pool, files, KeepTimes(export_seconds=1800))
    await files.keep_export(pool, book_id, "old", "pdf", b"old")
    await pool.execute(AN_HOUR_AGO)
    await files.keep_export(pool, book_id, "new", "pdf", b"new")

    await cleanup.forget_old(with_covers=False)
    await sweep(pool, files)

    assert list(server.objects.values()) == [b"new"]


@pytest.mark.parametrize(
    ("times", "left"),
    [(KeepTimes(), 5), (KeepTimes(covers=1), 2), (KeepTimes(cover_seconds=1800), 4), (KeepTimes(covers=0), 1)],
)
async def test_covers_are_kept_as_many_and_as_long_as_the_operator_says_and_the_selected_one_always(
    pool: asyncpg.Pool, book_id: int, times: KeepTimes, left: int
) -> None:
    for at in range(5):
        keys = [await add_picture(pool, book_id, NewFile(PICTURE)) for _ in range(2)]
        await pool.execute(
            "INSERT INTO cover (book_id, style, image_key, thumbnail_key, width, height, is_selected, created_at)"
            " VALUES ($1, '', $2, $3, 16, 25, $4, now() - $5 * interval '1 hour')",
            book_id, *keys, at == 4, float(at in (0, 4)),
        )  # fmt: skip

    await FileCleanup(pool, Files(), times).forget_old(with_covers=True)

    assert await pool.fetchval("SELECT count(*) FROM cover") == left
    assert await pool.fetchval("SELECT count(*) FROM media") == 2 * left
    assert await pool.fetchval("SELECT count(*) FROM cover WHERE is_selected") == 1


async def test_one_round_removes_more_than_one_batch(
    pool: asyncpg.Pool, book_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH", 2)
    monkeypatch.setattr(covers, "BATCH", 2)
    files = Files()
    for at in range(5):
        await files.keep_export(pool, book_id, f"file {at}", "pdf", b"%PDF")
        keys = [await add_picture(pool, book_id, NewFile(PICTURE)) for _ in range(2)]
        await pool.execute(
            "INSERT INTO cover (book_id, style, image_key, thumbnail_key, width, height)"
            " VALUES ($1, '', $2, $3, 16, 25)",
            book_id, *keys,
        )  # fmt: skip
    await pool.execute(AN_HOUR_AGO)

    await FileCleanup(pool, files, KeepTimes(export_seconds=1800, covers=1)).forget_old(with_covers=True)

    assert await pool.fetchval("SELECT count(*) FROM export_file") == 0
    assert await pool.fetchval("SELECT count(*) FROM cover") == 1


async def test_a_picture_in_its_row_needs_no_place(pool: asyncpg.Pool, book_id: int) -> None:
    files = Files()
    key = await add_picture(pool, book_id, await files.keep(pool, PICTURE))
    await files.keep_export(pool, book_id, "digest", "pdf", b"%PDF")

    found, export = await media.find(pool, key), await exports.find(pool, book_id, "digest")
    assert found
    assert export
    assert (found.body, found.file, export.body) == (PICTURE, None, b"%PDF")
    assert await states(pool) == []
