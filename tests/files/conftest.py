"""Places for files: a folder, and a bucket of a server that speaks S3's protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bookgen.files.keeping import Files
from bookgen.files.opened_places import Places
from bookgen.files.place import BucketAccess
from bookgen.models import SourceType
from bookgen.store import media
from bookgen.store.stored_files import NewFile
from tests.fakes.s3_server import KEY_ID, REGION, SECRET, S3Server

BUCKET_ADDRESS = "s3://books/of/ada"
PICTURE = b"\xff\xd8 a picture"


@pytest.fixture
async def server() -> AsyncIterator[S3Server]:
    async with S3Server() as server:
        yield server


@pytest.fixture
def places(server: S3Server) -> Places:
    return Places(BucketAccess(server.url, REGION, KEY_ID, SECRET))


@pytest.fixture(params=["folder", "bucket"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "bucket":
        return BUCKET_ADDRESS
    (tmp_path / "files").mkdir()
    return str(tmp_path / "files")


@pytest.fixture
def files(places: Places) -> Files:
    """Files that go to the bucket."""
    return Files(places, BUCKET_ADDRESS)


@pytest.fixture
async def book_id(pool: asyncpg.Pool) -> int:
    return await add_book(pool)


async def add_book(pool: asyncpg.Pool) -> int:
    account = "INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id"
    book = """
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        VALUES ($1, 'A book', 2, 100, '6x9', 'en') RETURNING id
    """
    return int(await pool.fetchval(book, await pool.fetchval(account)))


async def add_picture(pool: asyncpg.Pool, book_id: int, new: NewFile) -> str:
    return await media.add(pool, book_id, new, 16, 25, SourceType.DRAWN)


async def states(pool: asyncpg.Pool) -> list[str]:
    """The state of each file outside the database."""
    return [row["state"] for row in await pool.fetch("SELECT state FROM stored_file ORDER BY id")]
