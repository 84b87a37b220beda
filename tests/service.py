"""The real service as a process of its own, to be told, asked and killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Self

from bookgen import config
from tests.canaries import keep_logs, kept

ROOT = Path(__file__).parent.parent
START_SECONDS = 60
DEFAULTS = {"BOOKGEN_PORT": 0, "BOOKGEN_LOG_LEVEL": "debug"}


def environment(folder: Path, **settings: object) -> dict[str, str]:
    """This process's environment without any setting of ours, then the given ones, on a data folder below `folder`."""
    ours = {*config.names().values(), "DATABASE_URL"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    chosen = {"PYTHONPATH": ROOT, **DEFAULTS, "BOOKGEN_DATA_DIR": folder / "data", **settings}
    return {**inherited, **{name: str(value) for name, value in chosen.items()}}


class ServiceProcess:
    """`bookgen serve`; an async context manager that is ready once entered and gone once left."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self._folder = folder
        self._environment = environment(folder, **settings)
        self.log = folder / "serve.log"
        self.ready_line = ""

    async def start(self) -> Self:
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bookgen", "serve",
                env=self._environment, cwd=self._folder,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self.process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            self.ready_line = (await self.process.stdout.readline()).decode().strip()
        assert self.ready_line.startswith("bookgen is ready at "), self.log.read_text()
        return self

    @property
    def url(self) -> str:
        return next(word for word in self.ready_line.split() if word.startswith("http"))

    async def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        await self._gone()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return await self._gone()

    async def _gone(self) -> int:
        # Reading to the end lets asyncio close the pipe's transport with the process.
        await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            await self.kill()
        keep_logs(self._folder)


async def run(folder: Path, *arguments: str, **settings: object) -> tuple[int, str, str]:
    """`bookgen ARGUMENTS`: its exit code, what it printed and what it complained of."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bookgen", *arguments,
        env=environment(folder, **settings), cwd=folder,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    kept.write(err.decode(errors="replace") + "\n")
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()
