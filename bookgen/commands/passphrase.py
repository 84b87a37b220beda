"""Reads the passphrase of backups from a file, the setting or a prompt.

The passphrase cannot be given on the command line, where every user of the machine could see it.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bookgen.errors import InvalidInput
from bookgen.setting_types import MIN_PASSPHRASE_CHARACTERS
from bookgen.settings import Config, reveal


def add_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--passphrase-file", type=Path, metavar="PATH",
        help="file whose first line is the passphrase (default: BOOKGEN_BACKUP_PASSPHRASE, else a prompt)",
    )  # fmt: skip


async def read(options: Namespace, settings: Config, *, new: bool) -> str:
    """Return the passphrase. If it is `new`, it must be long enough, and a prompt asks for it twice.

    Raises InvalidInput if the passphrase is too short, cannot be read, or was typed differently the second time.
    """
    if options.passphrase_file:
        passphrase = _of_file(options.passphrase_file)
    elif settings.backup_passphrase:
        passphrase = reveal(settings.backup_passphrase) or ""
    else:
        passphrase = await asyncio.to_thread(_prompt, new)
    if new and len(passphrase) < MIN_PASSPHRASE_CHARACTERS:
        raise InvalidInput(
            f"A passphrase needs {MIN_PASSPHRASE_CHARACTERS} or more characters (got {len(passphrase)})."
        )
    return passphrase


def _of_file(path: Path) -> str:
    try:
        return path.read_text().partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InvalidInput(f"{path} can't be read: {reason}.") from error


def _prompt(new: bool) -> str:
    if not sys.stdin.isatty():
        raise InvalidInput("No passphrase. Set BOOKGEN_BACKUP_PASSPHRASE, or name a file with --passphrase-file.")
    passphrase = getpass.getpass("Backup passphrase: ")
    if new and getpass.getpass("Repeat the passphrase: ") != passphrase:
        raise InvalidInput("The two passphrases differ. Run the command again.")
    return passphrase
