"""The commands. Bad input is one line and exit code 2, never a traceback."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Sequence

from bookgen import __version__, app, config, telemetry
from bookgen.client.client import ApiError
from bookgen.commands import account as operator
from bookgen.commands import check as check_command
from bookgen.commands import payments as payment_commands
from bookgen.commands import write as write_command
from bookgen.config import reveal
from bookgen.errors import BookgenError
from bookgen.store.migrate import migrate as apply_migrations
from bookgen.store.postgres.server import running_postgres

Command = Callable[[argparse.Namespace], Awaitable[int]]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    telemetry.configure_logs("console", "warning")  # serve has settings of its own
    try:
        return _run(options.command(options))
    except (BookgenError, ApiError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return 130


def _run(work: Awaitable[int]) -> int:
    async def entry() -> int:
        return await work

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(entry())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    with contextlib.suppress(ImportError):  # there is no uvloop for Windows
        import uvloop

        return uvloop.new_event_loop
    return None


def _refuse(message: str) -> int:
    for line in message.splitlines():
        print(f"bookgen: {line}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="bookgen", description="Turns an idea into a finished book.")
    root.add_argument("--version", action="version", version=f"bookgen {__version__}")
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "serve", serve, "run the service")
    write_command.add_options(_add(commands, "write", write_command.write, "write a book, from an idea to files"))
    _add(commands, "migrate", migrate, "apply the migrations to the database")
    _add(commands, "check", check_command.check, "try the settings, the database and the model provider")
    operator.add_options(_add(commands, "account", account, "create, list and change accounts"))
    payment_commands.add_options(
        _add(commands, "payments", payments, "set the payment processor up, replay its events, compare the books")
    )
    return root


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: Command, meaning: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=meaning, description=meaning[0].upper() + meaning[1:] + ".")
    parser.set_defaults(command=command)
    return parser


async def serve(_: argparse.Namespace) -> int:
    await app.serve(config.load())
    return 0


async def migrate(_: argparse.Namespace) -> int:
    settings = config.load()
    async with running_postgres(reveal(settings.database_url), settings.data_dir, settings.pg_bindir) as dsn:
        applied = await apply_migrations(dsn, app.migrations())
    print("\n".join(f"applied {name}" for name in applied) or "nothing to apply")
    return 0


async def account(options: argparse.Namespace) -> int:
    async with app.open_database(config.load()) as database:
        await operator.run(options, database)
    return 0


async def payments(options: argparse.Namespace) -> int:
    settings = config.load()
    async with app.open_database(settings) as database:
        processor = app.build_payments(settings, database)
        try:
            await payment_commands.run(options, processor)
        finally:
            await processor.close()
    return 0
