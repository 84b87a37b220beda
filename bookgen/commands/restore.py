"""`bookgen restore FILE`: restore a backup into an empty database and data folder, completely or not at all."""

from __future__ import annotations

import asyncio
import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

import asyncpg

from bookgen import config
from bookgen.app.database import postgres
from bookgen.app.files import build_places
from bookgen.app.package_data import migrations
from bookgen.commands import passphrase
from bookgen.commands.backup_file import SECRET_KEY, counted, open_backup, restore_contents, verify
from bookgen.commands.backup_stored import StoredTarget, forget, undo
from bookgen.commands.scratch import left_behind, scratch_folder
from bookgen.errors import Conflict, FilesUnavailable, StartupError, Unavailable
from bookgen.files.opened_places import Places, address_of
from bookgen.settings import Config, reveal
from bookgen.store.backup.restoring import Contents, empty_target, mark_as_copy, read_manifest, schema_of
from bookgen.store.database import connect_unbounded
from bookgen.store.postgres.clusters import has_cluster
from bookgen.store.postgres.space import disk_space, make_data_folder

PREFIX = "restore-"
FULL_BYTES = 32 << 20  # two WAL files: the disk counts as full below this
DATA, JOURNAL = "data", "journal"  # in the scratch folder
ACTIVE = "SELECT count(*) FROM run WHERE status IN ('queued', 'running')"


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="a file made by `bookgen backup`")
    passphrase.add_option(parser)


async def run(options: Namespace) -> int:
    """Restore the backup. Returns 0 once everything is committed."""
    settings = config.load()
    secret = await passphrase.read(options, settings, new=False)
    # The file is read twice: first to verify that it is complete, before anything is changed.
    await asyncio.to_thread(verify, options.file, secret)
    with open_backup(options.file, secret) as frames:
        schema_of(await read_manifest(frames), migrations())
    await asyncio.to_thread(make_data_folder, settings.data_dir)
    async with postgres(settings, create=not has_cluster(settings.data_dir)) as address:
        connection = await connect_unbounded(address.direct_dsn)
        try:
            print(await _restore(options.file, secret, settings, connection))
        except (asyncpg.PostgresError, Unavailable) as error:
            reason = error.reason if isinstance(error, FilesUnavailable) else str(error)
            said = " ".join(reason.split()).rstrip(".")
            raise Conflict(f"The backup could not be restored: {said}.{_full_disk_note(settings)}") from error
        finally:
            await connection.close()
    return 0


async def _restore(path: Path, secret: str, settings: Config, connection: asyncpg.Connection) -> str:
    places, address = build_places(settings), address_of(settings.files)
    place = places.at(address) if address else None
    with scratch_folder(settings.data_dir, PREFIX) as folder:
        target = StoredTarget(connection, place, folder / JOURNAL)
        try:
            async with empty_target(connection, _what_to_do(settings)):
                await _undo_killed(settings, places)
                if place:
                    await place.prepare()
                with open_backup(path, secret) as frames:
                    contents = await restore_contents(connection, frames, migrations(), target, folder / DATA)
                await target.settle()
                await mark_as_copy(connection, contents.manifest.made_at)
                active: int = await connection.fetchval(ACTIVE)
                # Before the commit: a restored database without its key file would get a new key.
                files = await asyncio.to_thread(_put_files, folder / DATA, settings)
                await asyncio.to_thread(forget, folder / JOURNAL)
        except BaseException:
            await undo(folder / JOURNAL, places)
            raise
    return _summary(path, contents, files, active)


async def _undo_killed(settings: Config, places: Places) -> None:
    """Remove the files that killed restores have stored.

    Call this only while the database is empty, when no row refers to any of these files.
    """
    for left in left_behind(settings.data_dir, PREFIX):
        await undo(left / JOURNAL, places)
        shutil.rmtree(left, ignore_errors=True)


def _full_disk_note(settings: Config) -> str:
    """A sentence to append to an error message if the disk of the embedded database is full; empty otherwise.

    A full disk stops the embedded server, but the error says only that the connection was lost.
    """
    space = None if settings.database_url else disk_space(settings.data_dir)
    if space is None or space.free >= FULL_BYTES:
        return ""
    return f" The disk of {settings.data_dir} has only {space.free >> 20} MB free. Free some space, then try again."


def _what_to_do(settings: Config) -> str:
    if settings.database_url:
        return "Make a new database and set BOOKGEN_DATABASE_URL to it."
    return f"Set BOOKGEN_DATA_DIR to a new folder, or move {settings.data_dir} away."


def _put_files(folder: Path, settings: Config) -> int:
    """Move the restored files into the data folder, and return how many there are.

    Raises StartupError if the data folder has one of these files with different content. A file with equal content is
    from an interrupted restore and is replaced.
    """
    found = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    if reveal(settings.secret_key):
        found = [name for name in found if str(name) != SECRET_KEY]
    for name in found:
        target = settings.data_dir / name
        if target.exists() and target.read_bytes() != (folder / name).read_bytes():
            raise StartupError(f"{target} already exists with different content. {_what_to_do(settings)}")
    for name in found:
        target = settings.data_dir / name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        (folder / name).replace(target)
    return len(found)


def _summary(path: Path, contents: Contents, files: int, active: int) -> str:
    rows = sum(digest.rows for digest in contents.digests.values())
    counts = counted({"tables": len(contents.digests), "rows": rows, "files": files})
    missing = f"Pictures that were missing when the backup was made: {contents.missing}.\n" if contents.missing else ""
    return (
        f"Restored {path}: {counts}, as of {contents.manifest.made_at:%Y-%m-%d %H:%M:%S} UTC.\n"
        f"{missing}Active runs: {active}. No book is written until you run: bookgen runs resume --all"
    )
