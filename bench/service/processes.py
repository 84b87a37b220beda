"""The service and its peers, each a separate process started with its usual command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECRET = "a secret key of a bench, 32 bytes and more"
# The limiter checks every request and never refuses one.
RATES = {f"BOOKGEN_RATE_{name}": "999999999/second" for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}
FOREIGN = ("BOOKGEN_", "ANTHROPIC_", "OPENAI_", "STRIPE_", "DATABASE_URL")
START_SECONDS = 60.0


class ServerProcess:
    """A process that serves HTTP on a local port."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self.log = log
        self.pid = process.pid

    async def stop(self) -> None:
        """End the process and its children: with SIGTERM, then with SIGKILL."""
        for ending, seconds in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, ending)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), seconds)
                return


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(port: int, dsn: str, data: Path, **more: str) -> dict[str, str]:
    """The environment of a service with default settings, except for its rates."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return inherited | {
        "PYTHONPATH": str(ROOT),
        "BOOKGEN_PORT": str(port),
        "BOOKGEN_DATA_DIR": str(data),
        "BOOKGEN_DATABASE_URL": dsn,
        "BOOKGEN_SECRET_KEY": SECRET,
        "BOOKGEN_BILLING": "off",
        "BOOKGEN_DRAIN_SECONDS": "0",
        "BOOKGEN_MODEL": "offline",
        **RATES,
        **more,
    }


async def start(command: list[str], env: Mapping[str, str], log: Path) -> asyncio.subprocess.Process:
    """Start a process in its own process group, with its output in a file."""
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *command, env=dict(env), cwd=log.parent, stdout=output, stderr=output, start_new_session=True
        )


@contextlib.asynccontextmanager
async def service(folder: Path, dsn: str, **more: str) -> AsyncIterator[ServerProcess]:
    """`bookgen serve` with everything on and its log in a file, once it is ready."""
    folder.mkdir(parents=True, exist_ok=True)
    port, log = free_port(), folder / "service.log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bookgen", "serve"]
    server = ServerProcess(await start(command, settings(port, dsn, folder / "data", **more), log), port, log)
    try:
        await until_ready(server)
        yield server
    finally:
        await server.stop()


async def until_ready(server: ServerProcess) -> None:
    deadline = time.monotonic() + START_SECONDS
    while b"bookgen is ready" not in server.log.read_bytes():
        if server.process.returncode is not None or time.monotonic() > deadline:
            raise SystemExit(f"The service did not start:\n{server.log.read_text()[-2000:]}")
        await asyncio.sleep(0.002)


@contextlib.asynccontextmanager
async def peer(name: str, command: list[str], folder: Path, env: Mapping[str, str]) -> AsyncIterator[ServerProcess]:
    """A peer's server. `{port}` in the command is replaced by its port."""
    port, log = free_port(), folder / f"{name}.log"
    filled = [part.replace("{port}", str(port)) for part in command]
    server = ServerProcess(
        await start(filled, {**os.environ, "PYTHONPATH": str(ROOT), "PORT": str(port), **env}, log), port, log
    )
    try:
        await _until_open(server)
        yield server
    finally:
        await server.stop()


async def _until_open(server: ServerProcess) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        except OSError:
            if server.process.returncode is not None or time.monotonic() > deadline:
                raise SystemExit(f"A peer did not start:\n{server.log.read_text()[-2000:]}") from None
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
