"""`bookgen files move TARGET`: move all stored files to another place while the service is running."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from functools import partial

from bookgen import config
from bookgen.app.database import open_database
from bookgen.app.files import build_files
from bookgen.commands.exit_codes import FAILED, INCOMPLETE
from bookgen.errors import InvalidInput
from bookgen.files.moving import Move, Mover
from bookgen.files.opened_places import address_of
from bookgen.setting_types import FILES_TAKES, file_place
from bookgen.settings import Config
from bookgen.store import stored_files
from bookgen.store.database import DB
from bookgen.store.stored_files import StoredFile

LINE_SECONDS = 2.0
MEGABYTE = 1_000_000


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="files_command", metavar="COMMAND", required=True)
    move = commands.add_parser("move", help="move all stored files to another place")
    move.add_argument("target", metavar="TARGET", help=FILES_TAKES)
    move.add_argument(
        "--without-missing",
        action="store_true",
        help="list missing or damaged pictures instead of failing (exit code 3; 0 if the restored backup lacked them)",
    )


async def run(options: Namespace) -> int:
    """Move the files. Returns 0 if all of them were moved, and FAILED if files are missing.

    With `--without-missing`, it returns INCOMPLETE if files are missing, but 0 if all of them were already missing from
    the backup that the database was restored from.
    """
    settings, target = config.load(), options.target
    try:
        file_place(target)
    except ValueError:
        raise InvalidInput(f"TARGET must be {FILES_TAKES} (got {target!r}).") from None
    files, address = build_files(settings), address_of(target)
    async with open_database(settings) as database:
        await files.check_place(address, partial(stored_files.samples, database.http))
        move = await Mover(database.http, files, address, _Progress().show).run()
        waiting = await stored_files.waiting(database.http)
        missing = [await _missing(database.http, file) for file in move.missing] if options.without_missing else []
    for sentence in missing:
        print(f"bookgen: {sentence}", file=sys.stderr)
    print(_summary(settings, target, move, waiting))
    if not options.without_missing:
        return FAILED if move.missing else 0
    return INCOMPLETE if any(file.place != stored_files.LOST for file in move.missing) else 0


async def _missing(db: DB, file: StoredFile) -> str:
    picture = f"picture of book {await stored_files.book_of(db, file.id)}"
    if file.place == stored_files.LOST:
        return f"A {picture} was missing in the backup that this database was restored from."
    return f"A {picture} is missing or damaged: {file.name} in {file.place}."


class _Progress:
    """Prints how many files have been moved, at most once in LINE_SECONDS."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def show(self, move: Move) -> None:
        if time.monotonic() - self._last >= LINE_SECONDS:
            self._last = time.monotonic()
            print(
                f"{move.files:,} of {move.of_files:,} files, {move.bytes // MEGABYTE:,} of "
                f"{move.of_bytes // MEGABYTE:,} MB",
                flush=True,
            )


def _summary(settings: Config, target: str, move: Move, waiting: int) -> str:
    lines = [f"Moved {move.files:,} files, {move.bytes / MEGABYTE:,.1f} MB, to {target}."]
    if move.missing:
        lines.append(
            f"Pictures that were not moved, because their files are missing or damaged: {len(move.missing):,}. Put the "
            "files back or delete the pictures, or run the command with --without-missing to list and accept them."
        )
    if waiting:
        lines.append(
            f"{waiting:,} old copies are not removed yet. The service removes them when no backup is running and their "
            "folder or bucket can be reached."
        )
    if address_of(settings.files) == address_of(target):
        lines.append(f"BOOKGEN_FILES is already {target}.")
    else:
        lines.append(
            f"Now set BOOKGEN_FILES={address_of(target) or target} for every process of the service and restart it. "
            "Then run this command again to move the files that were stored in the meantime."
        )
    return "\n".join(lines)
