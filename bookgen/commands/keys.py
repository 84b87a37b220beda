"""`bookgen keys …`: the keys that sign tokens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bookgen import config
from bookgen.accounts.keyring import LEAD, LIFETIME
from bookgen.app.database import open_database
from bookgen.app.parts import build_keyring


def add_options(parser: ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="keys_command", metavar="COMMAND", required=True)
    commands.add_parser("rotate", help="sign tokens with a new key; those of the old one are accepted until they end")
    commands.add_parser("reset", help="use this server's secret after the former one was lost; signs everybody out")


async def run(options: Namespace) -> int:
    settings = config.load()
    async with open_database(settings) as database:
        keyring = build_keyring(settings, database, create=False)
        if options.keys_command == "reset":
            await keyring.reset()
            print(
                f"This database now belongs to the secret {keyring.fingerprint}. Everybody has to sign in again. "
                "Restart every service process with this secret."
            )
            return 0
        await keyring.require_own()
        await keyring.rotate()
    print(
        f"In {LEAD.seconds} seconds every process signs with a new key. Tokens of the old key are accepted until "
        f"they end, {LIFETIME.days} days at most."
    )
    return 0
