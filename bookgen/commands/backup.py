"""`bookgen backup FILE`: database, key and files in one encrypted file, verified by a trial restore."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import asyncpg

from bookgen import __version__, config
from bookgen.app.database import postgres
from bookgen.app.files import build_files
from bookgen.app.package_data import migrations
from bookgen.commands import passphrase
from bookgen.commands.backup_drill import FORMAT, DrillReport, drill, export_of_a_book
from bookgen.commands.backup_file import counted, files_of, new_file, require_database
from bookgen.commands.backup_stored import write_outside
from bookgen.commands.exit_codes import INCOMPLETE
from bookgen.settings import Config
from bookgen.store import backups, stored_files
from bookgen.store.backup.frames import FrameKind, FrameWriter
from bookgen.store.backup.sealed import SealedWriter
from bookgen.store.backup.taking import sequences, snapshot, write_files, write_manifest, write_rows
from bookgen.store.backups import BackupRecord
from bookgen.store.database import connect_unbounded
from bookgen.store.migrate import read_migrations


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to create; it must not exist yet")
    parser.add_argument("--no-drill", dest="drill", action="store_false", help="skip the trial restore")
    parser.add_argument(
        "--without-missing",
        action="store_true",
        help="if stored pictures are missing or damaged, list them and back up everything else (exit code 3)",
    )
    passphrase.add_option(parser)


async def run(options: Namespace) -> int:
    """Make the backup and, unless `--no-drill` is given, verify it by a trial restore.

    Returns 0, or INCOMPLETE if pictures are missing from the backup.
    """
    settings = config.load()
    secret = await passphrase.read(options, settings, new=True)
    require_database(settings)
    async with postgres(settings, create=False) as address:  # an older database is backed up before it is moved
        connection = await connect_unbounded(address.direct_dsn)
        try:
            backup, report = await _make(options, settings, secret, connection)
        finally:
            await connection.close()
        # On a new connection: a network may have closed the old one, which is idle during the drill.
        connection = await connect_unbounded(address.direct_dsn)
        try:
            path, drilled = str(options.file.absolute()), report is not None
            await backups.record(
                connection, BackupRecord(backup.made_at, drilled, backup.size, path, missing=len(backup.missing))
            )
        finally:
            await connection.close()
    for sentence in backup.missing:
        print(f"bookgen: {sentence}", file=sys.stderr)
    print(_summary(options.file, backup, report))
    return INCOMPLETE if backup.missing else 0


@dataclass(frozen=True, slots=True)
class WrittenBackup:
    """What a backup contains. `counts`: the number of tables, rows and files. `size`: of the backup file, in bytes.

    `left_out`: the names of tables that do not belong to bookgen. `why_no_export`: why no book was exported for the
    trial restore to compare; empty if a book was exported. `missing`: a sentence for each picture that is not in the
    backup.
    """

    made_at: datetime
    counts: Mapping[str, int]
    size: int
    left_out: str
    why_no_export: str
    missing: Sequence[str]
    seconds: float


async def _make(
    options: Namespace, settings: Config, secret: str, connection: asyncpg.Connection
) -> tuple[WrittenBackup, DrillReport | None]:
    # A lock that ends with the connection. Until then, no file that the snapshot refers to is removed.
    await stored_files.hold_for_backup(connection)
    with new_file(options.file) as (file, partial):
        backup = await _write(file, settings, secret, connection, without_missing=options.without_missing)
        return backup, await drill(partial, secret, settings) if options.drill else None


async def _write(
    file: BinaryIO, settings: Config, secret: str, connection: asyncpg.Connection, *, without_missing: bool
) -> WrittenBackup:
    began = time.monotonic()
    sealed = SealedWriter(file, secret)
    frames, files, stored = FrameWriter(sealed), files_of(settings), build_files(settings)
    async with snapshot(connection, migrations()) as taken:
        await write_manifest(frames, taken, __version__)
        digests = await write_rows(frames, taken)
        await write_files(frames, settings.data_dir, files)
        current = len(taken.migrations) == len(read_migrations(migrations()))
        export = await export_of_a_book(connection, stored) if current else None
        ends = await sequences(connection)
        has_files = any(table.name == stored_files.TABLE for table in taken.tables)
        used = await stored_files.used(connection) if has_files else {}
    # After the transaction, because reading many files from a bucket takes a long time.
    outside = await write_outside(frames, connection, stored, used, without_missing=without_missing)
    lacking = export is not None and export["book"] in outside.books
    export = None if lacking else export
    await frames.write_json(FrameKind.TRAILER, {"sequences": ends, "export": export, "missing": len(outside.missing)})
    sealed.close()
    file.flush()
    os.fsync(file.fileno())
    counts = {"tables": len(digests), "rows": sum(digest.rows for digest in digests.values()), "files": len(files)}
    return WrittenBackup(
        taken.made_at,
        counts | ({"files of books": outside.written} if outside.written else {}),
        file.tell(),
        ", ".join(taken.left_out),
        "" if export else _why_no_export(current=current, lacking=lacking),
        outside.missing,
        time.monotonic() - began,
    )


def _why_no_export(*, current: bool, lacking: bool) -> str:
    if lacking:
        return "the newest book lacks a picture"
    return "no book has text" if current else "the database lacks migrations of this version of bookgen"


def _summary(path: Path, backup: WrittenBackup, report: DrillReport | None) -> str:
    lines = [
        f"{path}: {counted(backup.counts)}, {backup.size:,} bytes, as of {backup.made_at:%Y-%m-%d %H:%M:%S} UTC, made "
        f"in {backup.seconds:.1f} s."
    ]
    if backup.missing:
        lines.append(f"The backup is incomplete. Pictures that are missing or damaged: {len(backup.missing)}.")
    if backup.left_out:
        lines.append(f"Tables that the backup leaves out, because they are not bookgen's: {backup.left_out}.")
    if report is None:
        lines.append("Not verified, because --no-drill skipped the trial restore.")
        return "\n".join(lines)
    lines.append(
        f"Verified by a trial restore in {report.seconds:.1f} s: {report.tables} tables ({report.rows:,} rows) match "
        "the database."
    )
    if report.migrated:
        lines.append(
            "Migrations of this version that the database does not have yet were tried on the restored copy: "
            f"{len(report.migrated)}."
        )
    if report.export is None:
        lines.append(
            "The trial restore did not export a book from the copy and compare it with the original, because "
            f"{backup.why_no_export}."
        )
    else:
        lines.append(
            f"The {FORMAT.upper()} of book {report.export} is the same from the restored copy as from the database."
        )
    return "\n".join(lines)
