"""Files move between all places, whatever ends the move in between."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from bookgen.errors import FilesUnavailable
from bookgen.files.keeping import Files
from bookgen.files.moving import Move, Mover
from bookgen.files.opened_places import Places
from bookgen.store import storage
from tests.fakes.s3_server import S3Server
from tests.files.conftest import BUCKET_ADDRESS, add_picture, states

PICTURES = {f"picture {at}".encode() for at in range(5)}
EXPORT = b"%PDF a book"


@pytest.fixture
async def keys(pool: asyncpg.Pool, book_id: int) -> dict[str, bytes]:
    """The keys of some pictures in their rows, beside an export."""
    files = Files()
    await files.keep_export(pool, book_id, "digest", "pdf", EXPORT)
    return {await add_picture(pool, book_id, await files.keep(pool, each)): each for each in PICTURES}


async def move(pool: asyncpg.Pool, files: Files, target: str | None) -> Move:
    return await Mover(pool, files, target, lambda _: None).run()


async def are_whole(pool: asyncpg.Pool, files: Files, book_id: int, keys: dict[str, bytes]) -> bool:
    found = {key: await files.picture(pool, key) for key in keys}
    return found == keys and await files.export(pool, book_id, "digest") == EXPORT


async def test_files_move_through_all_places_and_back_and_count_the_same(
    pool: asyncpg.Pool, files: Files, server: S3Server, tmp_path: Path, book_id: int, keys: dict[str, bytes]
) -> None:
    account = await pool.fetchval("SELECT account_id FROM book")
    stored, folder = await storage.stored(pool, account), str(tmp_path)
    size = sum(map(len, PICTURES)) + len(EXPORT)

    for target, objects in ((BUCKET_ADDRESS, 6), (folder, 0), (BUCKET_ADDRESS, 6), (None, 0)):
        done = await move(pool, files, target)

        assert (done.files, done.of_files, done.bytes, done.of_bytes, done.missing) == (6, 6, size, size, [])
        assert len(server.objects) == objects
        assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == (6 if target == folder else 0)
        assert await states(pool) == (["used"] * 6 if target else [])
        assert await are_whole(pool, files, book_id, keys)
        assert await storage.stored(pool, account) == stored
    assert (await move(pool, files, None)).of_files == 0


@pytest.mark.parametrize("nth", [1, 3, 5, 8, 10, 12])
async def test_a_move_that_is_killed_at_any_call_loses_nothing_and_goes_on(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int, keys: dict[str, bytes], nth: int
) -> None:
    """Six files take a PUT and a GET each on the way there; on the way back, a GET and a DELETE."""
    for target in (BUCKET_ADDRESS, None):
        await _killed_at(server, nth, asyncio.create_task(move(pool, files, target)))
        assert await are_whole(pool, files, book_id, keys)

        await move(pool, files, target)

        assert await are_whole(pool, files, book_id, keys)
        assert await pool.fetchval("SELECT count(*) FROM media WHERE body IS NULL") == (5 if target else 0)
    await pool.execute("UPDATE stored_file SET created_at = now() - interval '8 days'")
    await move(pool, files, None)
    assert not server.objects
    assert await states(pool) == []


async def _killed_at(server: S3Server, nth: int, moving: asyncio.Task[Move]) -> None:
    """Wait for the call, or for the end of a move that makes fewer, and kill the move before that call is answered."""
    reached, first = asyncio.Event(), len(server.calls)

    async def hang(_method: str, _key: str) -> None:
        if len(server.calls) - first >= nth:
            reached.set()
            await asyncio.Event().wait()

    server.before = hang
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait([moving, waiting], return_when=asyncio.FIRST_COMPLETED)
    server.before = None
    for task in (moving, waiting):
        task.cancel()
    await asyncio.wait([moving, waiting])


async def test_what_does_not_come_back_as_it_was_written_stays_where_it_was(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int, keys: dict[str, bytes]
) -> None:
    async def damage(method: str, key: str) -> None:
        if method == "GET" and key in server.objects:
            server.objects[key] += b"!"

    server.before = damage
    with pytest.raises(FilesUnavailable) as refused:
        await move(pool, files, BUCKET_ADDRESS)
    server.before = None

    assert refused.value.reason.startswith(f"A file written to {BUCKET_ADDRESS} reads back with different content.")
    assert await pool.fetchval("SELECT count(*) FROM media WHERE body IS NULL") == 0
    assert await are_whole(pool, files, book_id, keys)


async def test_a_damaged_picture_stays_and_is_counted_and_a_damaged_export_goes(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int, keys: dict[str, bytes]
) -> None:
    await move(pool, files, BUCKET_ADDRESS)
    for key, body in server.objects.items():
        if body in (b"picture 1", EXPORT):
            server.objects[key] = b"x" * len(body)

    done = await move(pool, files, None)

    assert (done.files, len(done.missing)) == (4, 1)
    assert await pool.fetchval("SELECT count(*) FROM media WHERE body IS NULL") == 1
    assert await pool.fetchval("SELECT count(*) FROM export_file") == 0


async def test_what_is_deleted_while_it_moves_stays_deleted(
    pool: asyncpg.Pool, files: Files, places: Places, server: S3Server, book_id: int, keys: dict[str, bytes]
) -> None:
    async def delete(method: str, _key: str) -> None:
        if method == "PUT":
            server.before = None
            await pool.execute("DELETE FROM book")

    server.before = delete
    await move(pool, files, BUCKET_ADDRESS)

    assert await pool.fetchval("SELECT count(*) FROM media") == 0
    assert not server.objects
    assert await states(pool) == []


async def test_what_the_service_stores_at_the_former_place_meanwhile_moves_too(
    pool: asyncpg.Pool, files: Files, server: S3Server, book_id: int, keys: dict[str, bytes]
) -> None:
    async def store(method: str, _key: str) -> None:
        if method == "PUT":
            server.before = None
            keys[await add_picture(pool, book_id, await Files().keep(pool, b"new"))] = b"new"

    server.before = store
    done = await move(pool, files, BUCKET_ADDRESS)

    assert (done.files, done.of_files) == (7, 6)
    assert await pool.fetchval("SELECT count(*) FROM media WHERE body IS NOT NULL") == 0
    assert await are_whole(pool, files, book_id, keys)


async def test_two_moves_at_once_lose_nothing(
    pool: asyncpg.Pool, files: Files, server: S3Server, tmp_path: Path, book_id: int, keys: dict[str, bytes]
) -> None:
    await asyncio.gather(move(pool, files, BUCKET_ADDRESS), move(pool, files, str(tmp_path)))
    assert await are_whole(pool, files, book_id, keys)

    await asyncio.gather(move(pool, files, BUCKET_ADDRESS), move(pool, files, BUCKET_ADDRESS))

    assert await are_whole(pool, files, book_id, keys)
    assert sorted(server.objects.values()) == sorted([*PICTURES, EXPORT])
    assert await states(pool) == ["used"] * 6
