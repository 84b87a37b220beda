"""Copies a book with its pictures. Files outside the database are copied before the transaction that adds the rows."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import asyncpg

from bookgen.billing.quota import Quota
from bookgen.billing.storage import require_room, require_stored
from bookgen.errors import Unavailable, must_exist
from bookgen.files.keeping import Files
from bookgen.models import Book
from bookgen.store import books, covers, illustrations, media, storage
from bookgen.store.stored_files import NewFile


class _FilesChanged(Exception):
    """One of the book's pictures is stored in a file that has not been copied yet, so copying has to be tried again."""


async def copy_book(db: asyncpg.Pool, files: Files, quota: Quota, account_id: int, book_id: int) -> Book:
    """Create a draft with the same texts and pictures.

    Raises NotFound; FilesUnavailable; and PlanUpgradeRequired if the account has too little storage for the copy.
    """
    copied: dict[int, NewFile | None] = {}
    try:
        while True:
            missing = [each for each in await media.outside(db, account_id, book_id) if each.id not in copied]
            if missing and not copied:  # before anything is written for the account
                growth = await storage.of_book(db, account_id, book_id)
                await require_room(db, quota, await quota.standing(db, account_id), growth=growth)
            copied |= await files.copy(db, missing)
            try:
                async with db.acquire() as connection, connection.transaction():
                    return await _copy_rows(connection, quota, account_id, book_id, copied)
            except _FilesChanged:  # a picture was added or moved meanwhile
                continue
    finally:
        with contextlib.suppress(Unavailable):  # files without a row are removed later in any case
            await files.discard(db, *filter(None, copied.values()))  # removes only the copies that no row refers to


async def _copy_rows(
    connection: asyncpg.Connection, quota: Quota, account_id: int, book_id: int, files: Mapping[int, NewFile | None]
) -> Book:
    growth = await storage.of_book(connection, account_id, book_id)
    await require_stored(connection, quota, account_id, growth=growth)
    copy = must_exist(await books.duplicate(connection, account_id, book_id))
    keys = await media.copy(connection, book_id, copy.id, files)
    if keys is None:
        raise _FilesChanged
    await covers.copy(connection, book_id, copy.id, keys)
    await illustrations.copy(connection, book_id, copy.id, keys)
    await books.copy_character_sheet(connection, book_id, copy.id, keys)
    return copy
