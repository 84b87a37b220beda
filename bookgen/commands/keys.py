"""`bookgen keys …`: rotate or reset the keys that sign tokens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bookgen import config
from bookgen.accounts.keyring import LEAD, LIFETIME
from bookgen.app.database import open_database
from bookgen.app.parts import build_keyring


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="keys_command", metavar="COMMAND", required=True)
    commands.add_parser("rotate", help="sign tokens with a new key; older tokens are accepted until they expire")
    commands.add_parser("reset", help="use this server's secret after the old one was lost; signs everyone out")


async def run(options: Namespace) -> int:
    settings = config.load()
    async with open_database(settings) as database:
        keyring = build_keyring(settings, database, create=False)
        if options.keys_command == "reset":
            await keyring.reset()
            print(
                f"This database now uses this server's secret, with the fingerprint {keyring.fingerprint}. Everyone "
                "has to sign in again. Restart every process of the service with this secret."
            )
            return 0
        await keyring.require_own()
        await keyring.rotate()
    print(
        f"In {LEAD.seconds} seconds, all processes will sign with a new key. Tokens signed with the old key are "
        f"accepted until they expire, for at most {LIFETIME.days} days."
    )
    return 0
