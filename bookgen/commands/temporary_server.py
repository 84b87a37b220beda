"""A server that a command starts for itself: a separate process on a free loopback port, with the user's settings."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from bookgen.commands.serve import ALONE
from bookgen.errors import StartupError
from bookgen.settings import Config
from bookgen.store.postgres.keyfile import open_beside
from bookgen.store.postgres.postmaster import die_with_parent

COMMAND = ("serve", ALONE)
START_SECONDS = 330.0
STOP_SECONDS = 60.0
# A free loopback port. Only this user has access, so plans, closed registration and e-mail verification do not apply.
SETTINGS = {
    "BOOKGEN_HOST": "127.0.0.1",
    "BOOKGEN_PORT": "0",
    "BOOKGEN_PUBLIC_URL": "",
    "BOOKGEN_BILLING": "off",
    "BOOKGEN_REGISTRATION": "open",
    "BOOKGEN_EMAIL_VERIFICATION": "off",
    "BOOKGEN_LOG_FORMAT": "json",
}


@contextlib.asynccontextmanager
async def temporary_server(settings: Config) -> AsyncIterator[tuple[str, Path]]:
    """A context in which the server runs. Yields the server's address and the path of its log file."""
    log = settings.data_dir / "write.log"
    with _opened(log) as output:
        process = await _start_server(output)
        try:
            yield await _address(process, log), log
        finally:
            await _stop(process)


def _opened(log: Path) -> BinaryIO:
    try:
        return os.fdopen(open_beside(log, os.O_WRONLY | os.O_TRUNC), "wb")
    except OSError as error:
        raise StartupError(f"{log} can't be written: {error.strerror}.") from error


async def _start_server(log: BinaryIO) -> asyncio.subprocess.Process:
    parent = os.getpid()
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bookgen", *COMMAND,
        env={**os.environ, **SETTINGS},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log,
        start_new_session=True,  # Ctrl-C must not reach the server before this process has paused the book
        preexec_fn=lambda: die_with_parent(parent, signal.SIGTERM),
    )  # fmt: skip


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    if process.stdout is None:
        raise StartupError("internal error: the server has no pipe to report its address")
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode()
    except TimeoutError:
        raise StartupError(f"the server did not start within {START_SECONDS:.0f} seconds; see {log}") from None
    if not line:
        await process.wait()
        raise StartupError(_refusal(log))
    return next(word for word in line.split() if word.startswith("http"))


def _refusal(log: Path) -> str:
    """The message from the server's log that says why the server did not start."""
    lines = log.read_text(errors="replace").splitlines()
    said = [line.removeprefix("bookgen: ") for line in lines if line.startswith("bookgen: ")]
    return "\n".join(said) or f"the server stopped right after it started; see {log}"


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
