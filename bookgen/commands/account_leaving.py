"""`bookgen account export` and `delete`: export or delete everything stored about an account."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import zipfile
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from bookgen import config
from bookgen.accounts.departure import Departure
from bookgen.accounts.rights import RightsCache
from bookgen.actors.messages import Abandon
from bookgen.actors.resources import OperatorProcess
from bookgen.actors.transaction import Transactions
from bookgen.app.files import build_files
from bookgen.app.parts import build_payments, build_quota
from bookgen.billing.quota import Quota
from bookgen.errors import Conflict, InvalidInput, NotFound
from bookgen.models import Account
from bookgen.store import books, takeout
from bookgen.store.database import Database


async def delete(args: Namespace, database: Database, account: Account) -> None:
    """Delete the account as `POST /auth/delete-account/` does. On a terminal, ask for confirmation first."""
    if not args.yes and sys.stdin.isatty():
        await asyncio.to_thread(_confirm, account.email)
    settings = config.load()
    payments = build_payments(settings, database)
    try:
        delete_books = partial(_delete_books, database, build_quota(settings))
        await Departure(database.http, payments, delete_books, RightsCache(database.http)).delete(account.id)
    finally:
        await payments.close()
    print(f"Deleted {account.email} and everything in it.")


async def _delete_books(database: Database, quota: Quota, account_id: int) -> None:
    """Delete all books of the account. A process that is writing one of them cancels its model call and stops."""
    transactions = Transactions(OperatorProcess(database.runs, quota))
    for book in await books.titles(database.http, account_id):
        with contextlib.suppress(NotFound):  # already deleted by another request
            await transactions.steer(account_id, book["id"], Abandon(), uuid4())
            await transactions.delete_book(account_id, book["id"])


def _confirm(email: str) -> None:
    try:
        typed = input(f"This deletes {email} with all its books. It cannot be undone. Type the address to confirm: ")
    except EOFError:
        typed = ""
    if typed.strip() != email:
        raise InvalidInput("The address does not match. Nothing was deleted.")


async def export(args: Namespace, database: Database, account: Account) -> None:
    """Write everything that is stored about the account to a ZIP file."""
    count, files = 0, build_files(config.load())
    with _complete(args.file) as archive:
        _put(archive, "account.json", await takeout.account_rows(database.http, account.id))
        async for book_id, rows in takeout.books(database.http, account.id):
            count += 1
            folder = f"books/{book_id} {_file_name(rows['book']['title'])}"
            _put(archive, f"{folder}/book.json", rows)
            for chapter in rows["chapters"]:
                text = f"# {chapter['title']}\n\n{chapter['content']}\n"
                archive.writestr(f"{folder}/chapters/{chapter['chapter_number']:03}.md", text)
            for key in await takeout.pictures(database.http, book_id):
                if body := await files.picture(database.http, key):
                    archive.writestr(f"{folder}/pictures/{_file_name(key)}.jpg", body, zipfile.ZIP_STORED)
    print(f"Exported {account.email} with {count} books to {args.file}")


@contextlib.contextmanager
def _complete(path: Path) -> Iterator[zipfile.ZipFile]:
    """A context with a new ZIP file that only its owner can read. The file is renamed to `path` when it is complete.

    Raises Conflict if `path` exists, and InvalidInput if its folder does not.
    """
    if path.exists():
        raise Conflict(f"{path} already exists. Choose another name.")
    if not path.parent.is_dir():
        raise InvalidInput(f"{path.parent} is not a folder.")
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _put(archive: zipfile.ZipFile, name: str, rows: Any) -> None:
    archive.writestr(name, orjson.dumps(rows, option=orjson.OPT_INDENT_2))


def _file_name(text: str) -> str:
    """Return `text` without the characters that some systems do not allow in file names."""
    return re.sub(r"[^\w .-]+", "_", text)[:80].strip(" .") or "untitled"
