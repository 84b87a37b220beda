"""`bookgen ARGUMENTS`, or a worker of the service, as a process forked from one that has everything loaded.

Importing is most of a start, and the suite starts hundreds. A forked process can be killed, frozen and signalled like
any other: it has its own id, folder, environment and streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver, reduction
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import IO, Any, Self

from bookgen import processes
from bookgen.commands import temporary_server
from bookgen.processes import clean_environment

COMMANDS = ("account", "check", "migrate", "payments", "proof", "serve", "write")
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    ["uvloop", "bookgen.render.worker", *(f"bookgen.commands.{name}" for name in COMMANDS), "tests.loaded"]
)


# The address and the key of the fork server: names from multiprocessing.
ADDRESS = ("_forkserver_address", "_forkserver_authkey")


def begin_to_load() -> dict[str, Any]:
    """Start the fork server. Pass the result to `share` in another process."""
    forkserver.ensure_running()
    return {name: getattr(forkserver._forkserver, name) for name in ADDRESS if hasattr(forkserver._forkserver, name)}


def share(address: dict[str, Any]) -> None:
    """Make this process use a fork server that another process has started."""
    for name, value in address.items():
        setattr(forkserver._forkserver, name, value)
    forkserver._forkserver._forkserver_alive_fd = os.open(os.devnull, os.O_RDONLY)  # this process must not stop it
    _start_no_other()


def until_loaded() -> None:
    """Wait until the fork server has loaded all modules."""
    first = FORKING.Process(target=gc.collect)
    first.start()
    first.join()


EXECUTE = processes.start  # what the tests use instead of `start_worker`


class Program:
    """A running process, made by `start`."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self._ended = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(process.sentinel, self._end)

    @classmethod
    async def start(
        cls, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], out: int, err: int
    ) -> Program:
        """`out`, `err`: descriptors of files or pipes. Standard input is empty."""
        with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as nothing:
            streams = [_Handed(each) for each in (nothing.fileno(), out, err)]
            return await cls._forked(_command, streams, dict(environment), str(folder), list(arguments))

    @classmethod
    async def _forked(cls, become: Callable[..., None], *told: Any) -> Self:
        process = FORKING.Process(target=become, args=told, daemon=True)  # no program outlives the tests
        await asyncio.to_thread(process.start)
        return cls(process)

    @property
    def pid(self) -> int:
        return int(self._process.pid or 0)

    @property
    def returncode(self) -> int | None:
        """The exit code. After a signal it is the negative signal number."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    async def wait(self) -> int:
        await asyncio.shield(self._ended)
        return int(self._process.exitcode or 0)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self._ended.set_result(None)


class _Handed:
    """A descriptor that is passed to the started process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __getstate__(self) -> Any:
        return reduction.DupFd(self._descriptor)

    def __setstate__(self, handed: Any) -> None:
        self._descriptor = handed.detach()

    def become(self, descriptor: int) -> None:
        os.dup2(self._descriptor, descriptor)
        os.close(self._descriptor)


class ClosedByItsEnd(asyncio.StreamReaderProtocol):
    """Closes our end of a socket once the process has ended, as a pipe would be, also if nobody waits for it."""

    def eof_received(self) -> bool:
        super().eof_received()
        return False


class WorkerProcess(Program):
    """Has a socket for its input and output; made by `start_worker`."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader

    @classmethod
    async def of_socket(
        cls, become: Callable[..., None], streams: Callable[[int], list[int]], *told: Any
    ) -> WorkerProcess:
        """`streams`: the descriptors that the process gets, for that of its end of the socket.

        Not pipes: uvloop closes the descriptor of a pipe twice, and so now and then one that a thread has just opened.
        """
        starting = asyncio.ensure_future(cls._of_socket(become, streams, *told))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            worker = await starting
            worker.kill()
            await worker.wait()
            raise

    @classmethod
    async def _of_socket(
        cls, become: Callable[..., None], streams: Callable[[int], list[int]], *told: Any
    ) -> WorkerProcess:
        ours, its = socket.socketpair()
        try:
            with its:
                worker = await cls._forked(become, [_Handed(each) for each in streams(its.fileno())], *told)
            worker.stdout = asyncio.StreamReader()
            loop, protocol = asyncio.get_running_loop(), ClosedByItsEnd(worker.stdout)
            transport, _ = await loop.create_unix_connection(lambda: protocol, sock=ours)
            worker.stdin = asyncio.StreamWriter(transport, protocol, worker.stdout, loop)
        except BaseException:
            ours.close()
            raise
        return worker

    async def communicate(self, question: bytes) -> tuple[bytes, None]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.stdin.write(question)
            await self.stdin.drain()
            self.stdin.write_eof()
        said = await self.stdout.read()
        await self.wait()
        return said, None

    async def wait(self) -> int:
        code = await super().wait()
        self.stdin.close()
        return code


async def start_worker(module: str, memory: int) -> WorkerProcess:
    """Like `bookgen.processes.start`, but forked."""
    return await WorkerProcess.of_socket(_worker, lambda its: [its, its, 2], clean_environment(), module, memory)


async def start_temporary_server(log: IO[bytes]) -> WorkerProcess:
    """Like `bookgen.commands.temporary_server`, but forked and without stdin."""
    told = {**os.environ, **temporary_server.SETTINGS}
    with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as nothing:
        return await WorkerProcess.of_socket(
            _temporary_server, lambda its: [nothing.fileno(), its, log.fileno()], told, str(Path.cwd())
        )


def _command(streams: list[_Handed], environment: dict[str, str], folder: str, arguments: list[str]) -> None:
    from bookgen.commands.cli import main

    _become(streams, environment)
    _fork_what_it_starts()
    os.chdir(folder)
    sys.exit(main(arguments))


def _temporary_server(streams: list[_Handed], environment: dict[str, str], folder: str) -> None:
    """Ends with the command that owns it."""

    def end_with_it() -> None:
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGTERM)

    os.setsid()
    threading.Thread(target=end_with_it, daemon=True).start()
    _command(streams, environment, folder, [*temporary_server.COMMAND])


def _worker(streams: list[_Handed], environment: dict[str, str], module: str, memory: int) -> None:
    os.setsid()
    _become(streams, environment)
    sys.argv[1:] = [str(memory)]
    importlib.import_module(module).main()


def _fork_what_it_starts() -> None:
    """Start programs from the fork server too."""
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    _start_no_other()
    processes.start = start_worker  # type: ignore[assignment]
    temporary_server._start_server = start_temporary_server  # type: ignore[assignment]


def _start_no_other() -> None:
    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[attr-defined]


def _become(streams: list[_Handed], environment: dict[str, str]) -> None:
    for descriptor, stream in enumerate(streams):
        stream.become(descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (for as long as the process lives)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
    os.environ.clear()
    os.environ.update(environment)
