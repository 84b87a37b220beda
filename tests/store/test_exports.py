"""Finished files are stored up to a limit per book and per account. The oldest are deleted first."""

from __future__ import annotations

import itertools

import asyncpg

from bookgen.store import exports
from bookgen.store.exports import ExportLimits
from bookgen.store.stored_files import NewFile

SMALL = ExportLimits(bytes_per_account=100)

BOOK = """
    INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
    VALUES ($1, 'A book', 2, 100, '6x9', 'en') RETURNING id
"""
_names = itertools.count(1)


async def account_with(pool: asyncpg.Pool, books: int) -> list[int]:
    name = f"keeper{next(_names)}"
    account = await pool.fetchval(
        "INSERT INTO account (username, email) VALUES ($1, $1 || '@example.com') RETURNING id", name
    )
    return [await pool.fetchval(BOOK, account) for _ in range(books)]


async def kept(pool: asyncpg.Pool) -> set[str]:
    return {row["digest"] for row in await pool.fetch("SELECT digest FROM export_file")}


async def test_the_stored_files_of_an_account_are_limited_in_bytes_and_the_oldest_go(pool: asyncpg.Pool) -> None:
    first, second = await account_with(pool, 2)
    (of_another,) = await account_with(pool, 1)
    await exports.keep(pool, of_another, "another's", "pdf", NewFile(b"x" * 90), SMALL)

    for at, book in enumerate((first, second, first, second)):
        await exports.keep(pool, book, f"file {at}", "pdf", NewFile(b"x" * 40), SMALL)

    assert await kept(pool) == {"another's", "file 2", "file 3"}


async def test_the_newest_file_is_kept_whatever_its_size(pool: asyncpg.Pool) -> None:
    (book,) = await account_with(pool, 1)
    await exports.keep(pool, book, "small", "pdf", NewFile(b"x" * 10), SMALL)

    await exports.keep(pool, book, "large", "pdf", NewFile(b"x" * 1_000), SMALL)

    assert await kept(pool) == {"large"}


async def test_the_stored_files_of_a_book_are_limited_in_number(pool: asyncpg.Pool) -> None:
    (book,) = await account_with(pool, 1)

    for at in range(5):
        await exports.keep(pool, book, f"file {at:02}", "pdf", NewFile(b"x"), ExportLimits(files_per_book=3))

    assert await kept(pool) == {f"file {at:02}" for at in range(2, 5)}
