"""The real service in a separate process, which tests can configure, call and kill."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self

from bookgen.settings import names
from tests.canaries import keep_logs, kept
from tests.programs import Program

ROOT = Path(__file__).parent.parent
START_SECONDS = 240
DEFAULTS = {"BOOKGEN_PORT": 0, "BOOKGEN_LOG_LEVEL": "debug"}


def environment(folder: Path, **settings: object) -> dict[str, str]:
    """The environment without our settings, plus the given ones, with a data folder below `folder`."""
    ours = {*names().values(), "DATABASE_URL"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    chosen = {"PYTHONPATH": ROOT, **DEFAULTS, "BOOKGEN_DATA_DIR": folder / "data", **settings}
    return {**inherited, **{name: str(value) for name, value in chosen.items()}}


class ServiceProcess:
    """`bookgen serve` as an async context manager: ready inside the block and ended after it."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self._folder = folder
        self._environment = environment(folder, **settings)
        self.log = folder / "serve.log"
        self.ready_line = ""

    async def start(self) -> Self:
        ours, its = os.pipe()
        self._said = os.fdopen(ours)
        with self.log.open("ab") as log, os.fdopen(its) as out:
            self.process = await Program.start(
                ["serve"], folder=self._folder, environment=self._environment, out=out.fileno(), err=log.fileno()
            )
        async with asyncio.timeout(START_SECONDS):
            self.ready_line = (await asyncio.to_thread(self._said.readline)).strip()
        assert self.ready_line.startswith("bookgen is ready at "), self.log.read_text()
        return self

    @property
    def url(self) -> str:
        return next(word for word in self.ready_line.split() if word.startswith("http"))

    async def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        await self._gone()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return await self._gone()

    async def _gone(self) -> int:
        code = await self.process.wait()
        self._said.close()
        return code

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            await self.kill()
        self._said.close()
        keep_logs(self._folder)


async def run(folder: Path, *arguments: str, **settings: object) -> tuple[int, str, str]:
    """Run `bookgen ARGUMENTS`. Returns its exit code, stdout and stderr."""
    with TemporaryFile() as out, TemporaryFile() as err:
        told = environment(folder, **settings)
        program = await Program.start(arguments, folder=folder, environment=told, out=out.fileno(), err=err.fileno())
        code = await program.wait()
        said, complained = (_all_of(stream) for stream in (out, err))
    kept.write(complained + "\n")
    return code, said, complained


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
