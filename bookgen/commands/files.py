"""`bookgen files move TARGET`: move all stored files to another place while the service is running."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from functools import partial

from bookgen import config
from bookgen.app.database import open_database
from bookgen.app.files import build_files
from bookgen.config import Config
from bookgen.errors import InvalidInput
from bookgen.files.moving import Move, Mover
from bookgen.files.places import address_of
from bookgen.setting_types import FILES_TAKES, file_place
from bookgen.store import stored_files

LINE_SECONDS = 2.0
MEGABYTE = 1_000_000


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="files_command", metavar="COMMAND", required=True)
    move = commands.add_parser("move", help="move all stored files to another place")
    move.add_argument("target", metavar="TARGET", help=FILES_TAKES)


async def run(options: Namespace) -> int:
    """Move the files. Returns 1 if some of them can't be moved."""
    settings, target = config.load(), options.target
    try:
        file_place(target)
    except ValueError:
        raise InvalidInput(f"TARGET must be {FILES_TAKES} (got {target!r}).") from None
    files, address = build_files(settings), address_of(target)
    async with open_database(settings) as database:
        await files.try_out(address, partial(stored_files.samples, database.http))
        move = await Mover(database.http, files, address, _Progress().show).run()
        waiting = await stored_files.waiting(database.http)
    print(_told(settings, target, move, waiting))
    return 1 if move.failed else 0


class _Progress:
    """Prints the progress every LINE_SECONDS."""

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


def _told(settings: Config, target: str, move: Move, waiting: int) -> str:
    lines = [f"Moved {move.files:,} files, {move.bytes / MEGABYTE:,.1f} MB, to {target}."]
    if move.failed:
        lines.append(
            f"{move.failed:,} pictures were not moved, because their files are missing or damaged. They are listed in "
            "the log."
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
