"""`bookgen ARGUMENTS` as a process of its own, forked from one that has imported the service.

To import it is most of a start, and the suite starts hundreds. What is forked is killed, frozen and told like any other
process: it has a number, a folder, an environment and streams of its own.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import reduction
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

COMMANDS = ("account", "check", "migrate", "payments", "proof", "serve", "write")
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["uvloop", *(f"bookgen.commands.{name}" for name in COMMANDS)])


class Program:
    """A process that runs; made by `start`."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self._ended = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(process.sentinel, self._end)

    @classmethod
    async def start(
        cls, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], out: int, err: int
    ) -> Program:
        """`out`, `err`: descriptors of files or pipes. There is nothing to read on its standard input."""
        streams = _Handed(out), _Handed(err)
        process = FORKING.Process(target=_run, args=(list(arguments), str(folder), dict(environment), *streams))
        await asyncio.to_thread(process.start)
        return cls(process)

    @property
    def pid(self) -> int:
        return int(self._process.pid or 0)

    @property
    def returncode(self) -> int | None:
        """Of one that a signal ended it is the signal's number below zero."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        await asyncio.shield(self._ended)
        return int(self._process.exitcode or 0)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self._ended.set_result(None)


class _Handed:
    """A descriptor that is given along to the process which is started."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __getstate__(self) -> Any:
        return reduction.DupFd(self._descriptor)

    def __setstate__(self, handed: Any) -> None:
        self._descriptor = handed.detach()

    def become(self, descriptor: int) -> None:
        os.dup2(self._descriptor, descriptor)
        os.close(self._descriptor)


def _run(arguments: list[str], folder: str, environment: dict[str, str], out: _Handed, err: _Handed) -> None:
    from bookgen.commands.cli import main

    _Handed(os.open(os.devnull, os.O_RDONLY)).become(0)
    out.become(1)
    err.become(2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    sys.exit(main(arguments))
