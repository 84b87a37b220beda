"""The command line. It reports an error in one line and by the exit code; only unexpected errors have a traceback."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from bookgen import __version__
from bookgen.errors import BookgenError

# Each command is a module in this folder with `run(options)`, which returns the exit code, and `add_options(parser)` if
# it has options. Only the module of the called command is imported, so that `bookgen --help` is fast.
COMMANDS = {
    "serve": "run the service",
    "write": "write a book, from an idea to files",
    "proof": "proofread a book and apply the corrections you choose",
    "mcp": "run the MCP server on standard input and output",
    "migrate": "apply database migrations",
    "backup": "back up the database, the key and the files into one encrypted file",
    "restore": "restore a backup into an empty database",
    "check": "check the settings, the address, the database and the model provider",
    "account": "create, list and change accounts",
    "files": "move stored pictures and exports to another place",
    "keys": "replace the key that signs tokens",
    "mail": "send a test e-mail",
    "runs": "list, pause, resume and cancel the runs of all accounts",
    "verify": "show the marks of AI origin in a file",
    "payments": "set up the payment processor, replay its events, reconcile payments",
}


WHERE_SETTINGS_ARE = (
    "Settings such as BOOKGEN_PORT, BOOKGEN_DATA_DIR and OPENAI_BASE_URL are environment variables or lines in a file "
    ".env. See docs/configure.md for all of them."
)


def main(arguments: Sequence[str] | None = None) -> int:
    _meet_any_terminal()
    try:
        try:
            return _called([_typed(each) for each in (sys.argv[1:] if arguments is None else arguments)])
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _meet_any_terminal() -> None:
    """Prevent output errors: print `?` for what the terminal lacks, and open closed streams on the null device."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):  # the file behind it has been closed
                stream.reconfigure(errors="replace")


def _typed(argument: str) -> str:
    """Decode a command-line argument as UTF-8, even if the locale claims ASCII."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return os.fsencode(argument).decode(errors="replace")
    return argument


def _called(given: Sequence[str]) -> int:
    gc.disable()  # imported objects live until the end: do not collect while importing, and never scan them later
    try:
        options = parser(next(iter(given), "")).parse_args(given)
    finally:
        gc.freeze()
        gc.enable()
    from bookgen import logs
    from bookgen.client.errors import ApiError
    from bookgen.commands.wording import in_words
    from bookgen.errors import FilesUnavailable

    logs.configure_logs("console", "warning")  # `serve` configures its logs from the settings
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            code: int = runner.run(options.run(options))
            return code
    except FilesUnavailable as error:
        return _refused(error, error.reason)
    except BookgenError as error:
        return _refused(error)
    except ApiError as error:
        return _refused(error, in_words(error, {}))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        from bookgen.commands.unexpected_errors import explained

        return _refused(explained(error))


def parser(called: str) -> argparse.ArgumentParser:
    """Build the argument parser. It knows all commands, but only the options of the command that is named `called`."""
    root = argparse.ArgumentParser(
        prog="bookgen", description="Turn an idea into a finished book.", epilog=WHERE_SETTINGS_ARE
    )
    root.add_argument("--version", action="version", version=f"bookgen {__version__}")
    commands = root.add_subparsers(required=True, metavar="COMMAND")
    for name, meaning in COMMANDS.items():
        command = commands.add_parser(
            name, help=meaning, description=f"{meaning[0].upper()}{meaning[1:]}.", epilog=WHERE_SETTINGS_ARE
        )
        if name == called:
            module = importlib.import_module(f"bookgen.commands.{name}")
            if hasattr(module, "add_options"):
                module.add_options(command)
            command.set_defaults(run=module.run)
    return root


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    with contextlib.suppress(ImportError):  # there is no uvloop for Windows
        import uvloop

        return uvloop.new_event_loop
    return None


def _refused(error: Exception, message: str = "") -> int:
    from bookgen.commands.exit_codes import exit_code

    for line in (message or str(error)).splitlines():
        print(f"bookgen: {line}", file=sys.stderr)
    return exit_code(error)
