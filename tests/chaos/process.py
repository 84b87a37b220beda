"""A real `bookgen serve`, to be killed, frozen and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

from tests.canaries import keep_logs
from tests.programs import Program

ROOT = Path(__file__).parents[2]
READY = re.compile(rb"bookgen is ready at (\S+)")
START_SECONDS = 60.0


class Process:
    """Start with `await Process.start(...)`, which returns once the service is ready."""

    def __init__(self, child: Program | asyncio.subprocess.Process, log: Path) -> None:
        self._child = child
        self._log = log
        self.url = ""

    @classmethod
    async def start(
        cls, folder: Path, settings: dict[str, str], *, wait: bool = True, command: Sequence[str] = ()
    ) -> Process:
        """`command` runs instead of `bookgen serve`."""
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / f"serve-{len(list(folder.glob('serve-*.log')))}.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BOOKGEN_")}
        environment = inherited | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | settings
        child: Program | asyncio.subprocess.Process
        with log.open("wb") as file:
            if command:
                child = await asyncio.create_subprocess_exec(
                    *command, cwd=folder, env=environment, stdout=file, stderr=file
                )
            else:
                child = await Program.start(
                    ["serve"], folder=folder, environment=environment, out=file.fileno(), err=file.fileno()
                )
        process = cls(child, log)
        if wait:
            await process.until_ready()
        return process

    async def until_ready(self) -> None:
        async with asyncio.timeout(START_SECONDS):
            while not (found := READY.search(self._log.read_bytes())):
                assert not self.dead, f"exit code {self._child.returncode}: {self.log}"
                await asyncio.sleep(0.02)
        self.url = found[1].decode()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def dead(self) -> bool:
        return self._child.returncode is not None

    async def said(self, what: str, seconds: float = 60.0) -> None:
        """Wait for a line of the log."""
        async with asyncio.timeout(seconds):
            while not re.search(what, self.log):  # noqa: ASYNC110 (the signal is a line of the log)
                await asyncio.sleep(0.02)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self._child.wait()

    async def stop(self, seconds: float = 40.0) -> int:
        """Send SIGTERM. Returns the exit code."""
        self.signal(signal.SIGTERM)
        return await self.ended(seconds)

    async def ended(self, seconds: float = 40.0) -> int:
        async with asyncio.timeout(seconds):
            return await self._child.wait()

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._child.send_signal(number)

    async def close(self) -> None:
        if not self.dead:
            self.wake()
            await self.kill()
        keep_logs(self._log.parent)
