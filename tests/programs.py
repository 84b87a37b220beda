"""`bookgen ARGUMENTS`, or a render worker, as a process of its own, forked from one that has imported the service.

To import it is most of a start, and the suite starts hundreds. What is forked is killed, frozen and told like any other
process: it has a number, a folder, an environment and streams of its own.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import reduction
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from bookgen.processes import clean_environment
from bookgen.render.pool import Worker

COMMANDS = ("account", "check", "migrate", "payments", "proof", "serve", "write")
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    ["uvloop", "bookgen.render.perform", "bookgen.render.worker", *(f"bookgen.commands.{name}" for name in COMMANDS)]
)


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
        with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as nothing:
            streams = [_Handed(each) for each in (nothing.fileno(), out, err)]
            return await cls._forked(_command, streams, dict(environment), str(folder), list(arguments))

    @classmethod
    async def _forked(cls, become: Callable[..., None], *told: Any) -> Program:
        process = FORKING.Process(target=become, args=told, daemon=True)  # none outlives the tests
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


async def forked_worker(memory: int) -> Worker:
    """What `Worker.start` gives."""
    its_in, ours_out = os.pipe()
    ours_in, its_out = os.pipe()
    with os.fdopen(its_in) as stdin, os.fdopen(its_out) as stdout:
        streams = [_Handed(each) for each in (stdin.fileno(), stdout.fileno(), 2)]
        program = await Program._forked(_worker, streams, clean_environment(), memory)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(ours_in, "rb"))
    transport, _ = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(ours_out, "wb"))
    return await Worker.of(program, asyncio.StreamWriter(transport, protocol, reader, loop), reader)


def _command(streams: list[_Handed], environment: dict[str, str], folder: str, arguments: list[str]) -> None:
    from bookgen.commands.cli import main

    _become(streams, environment)
    os.chdir(folder)
    sys.exit(main(arguments))


def _worker(streams: list[_Handed], environment: dict[str, str], memory: int) -> None:
    from bookgen.render.worker import main

    _become(streams, environment)
    sys.argv[1:] = [str(memory)]
    main()


def _become(streams: list[_Handed], environment: dict[str, str]) -> None:
    for descriptor, stream in enumerate(streams):
        stream.become(descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (for as long as the process lives)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    os.environ.clear()
    os.environ.update(environment)
