"""The drill of a backup: a trial restore that shows whether the backup can be used.

The drill restores the backup into a temporary PostgreSQL cluster, compares all rows with the backup, and applies new
migrations. Then it exports one book, and compares the file with the one that was exported when the backup was made.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from bookgen.app.package_data import migrations
from bookgen.commands.backup_file import open_backup, restore_contents
from bookgen.commands.backup_stored import StoredTarget
from bookgen.commands.scratch import left_behind, scratch_folder
from bookgen.errors import Conflict
from bookgen.files.folder import Folder
from bookgen.files.keeping import Files
from bookgen.render.pool import RenderPool
from bookgen.render.settings import ExportSettings
from bookgen.services.render_jobs import render_job
from bookgen.settings import Config
from bookgen.store import books, chapters
from bookgen.store.backup.restoring import Contents, empty_target
from bookgen.store.backup.tables import copy_out, tables
from bookgen.store.database import connect_unbounded
from bookgen.store.migrate import migrate
from bookgen.store.postgres.embedded import EmbeddedPostgres

FORMAT = "epub"
PREFIX = "drill-"
# Fast instead of durable: a scratch cluster is not needed after a crash.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "autovacuum": "off",
}

NOT_KEPT = "The backup was not verified and is not kept. Make another one; if it fails too, report it as a bug."


@dataclass(frozen=True, slots=True)
class DrillReport:
    """The result of a trial restore. `tables` and `rows`: how many match the backup. `migrated`: applied migrations.

    `export`: the id of the book that was exported and whose file matches; None if no book was exported.
    """

    seconds: float
    tables: int
    rows: int
    migrated: Sequence[str]
    export: int | None


async def drill(path: Path, passphrase: str, settings: Config) -> DrillReport:
    """Restore the backup into a temporary cluster and compare the rows. Raises Conflict if anything differs."""
    with _scratch_folder(settings.data_dir) as folder:
        server = EmbeddedPostgres(folder, settings.pg_bindir, settings=SETTINGS)
        try:
            return await _prove(path, passphrase, server, folder / "files")
        except asyncpg.PostgresError as error:
            said = " ".join(str(error).split()).rstrip(".")
            raise Conflict(f"The trial restore into a temporary database failed: {said}. {NOT_KEPT}") from error
        finally:
            await server.stop()


async def _prove(path: Path, passphrase: str, server: EmbeddedPostgres, stored: Path) -> DrillReport:
    began, dsn = time.monotonic(), await server.start()
    async with _session(dsn) as connection:
        place = Folder(stored)
        await place.prepare()
        target = StoredTarget(connection, place, stored.with_suffix(".journal"))
        with open_backup(path, passphrase) as frames:
            async with empty_target(connection, "Make the backup again."):
                contents = await restore_contents(connection, frames, migrations(), target)
        await _compare(connection, contents)
        await target.settle()
    migrated = await migrate(dsn, migrations())
    async with _session(dsn) as connection:
        export = await _compare_export(connection, contents)
    rows = sum(digest.rows for digest in contents.digests.values())
    return DrillReport(time.monotonic() - began, len(contents.digests), rows, migrated, export)


@contextlib.asynccontextmanager
async def _session(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect_unbounded(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def _compare(connection: asyncpg.Connection, contents: Contents) -> None:
    wrong = []
    for table in await tables(connection):
        if table.name in contents.digests and await copy_out(connection, table) != contents.digests[table.name]:
            wrong.append(table.name)
    if wrong:
        raise Conflict(f"Restored tables that differ from the database: {', '.join(wrong)}. {NOT_KEPT}")


async def _compare_export(connection: asyncpg.Connection, contents: Contents) -> int | None:
    if contents.export is None:
        return None
    book_id: int = contents.export["book"]
    if await export_digest(connection, Files(), contents.export["account"], book_id) != contents.export["sha256"]:
        raise Conflict(f"The {FORMAT.upper()} of book {book_id} differs in the restored copy. {NOT_KEPT}")
    return book_id


A_BOOK = """
    SELECT id, account_id FROM book b
     WHERE EXISTS (SELECT FROM chapter c WHERE c.book_id = b.id AND c.content <> '')
     ORDER BY updated_at DESC, id LIMIT 1
"""


async def export_of_a_book(connection: asyncpg.Connection, files: Files) -> dict[str, str | int] | None:
    """Export the most recently changed book that has text. Returns None if no book has text.

    The result has the ids of the book and its account, the format, and the file's SHA-256.
    """
    row = await connection.fetchrow(A_BOOK)
    if row is None:
        return None
    digest = await export_digest(connection, files, row["account_id"], row["id"])
    return {"book": row["id"], "account": row["account_id"], "format": FORMAT, "sha256": digest}


async def export_digest(connection: asyncpg.Connection, files: Files, account_id: int, book_id: int) -> str:
    """Export the book in FORMAT (EPUB) and return the file's SHA-256. Raises Conflict if the book does not exist."""
    book = await books.find(connection, account_id, book_id)
    if book is None:
        raise Conflict(f"The book {book_id} is not in the restored database.")
    written = [each for each in await chapters.of_book(connection, book_id) if each.content.strip()]
    job = await render_job(connection, files, FORMAT, book, written, ExportSettings(), watermark=False, marks=True)
    pool = RenderPool(workers=1)
    try:
        return hashlib.sha256(await pool.run(job)).hexdigest()
    finally:
        await pool.close()


@contextlib.contextmanager
def _scratch_folder(data_dir: Path) -> Iterator[Path]:
    """A context with a temporary folder in the data folder. Folders that killed drills have left are removed first."""
    for left in left_behind(data_dir, PREFIX):
        shutil.rmtree(left, ignore_errors=True)
    with scratch_folder(data_dir, PREFIX) as folder:
        yield folder
