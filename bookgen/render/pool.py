"""A pool of worker processes for rendering, which would block the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import Process
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import structlog

from bookgen import processes
from bookgen.errors import RenderingFailed, RenderTimeout
from bookgen.render.account_limits import AT_ONCE, AccountTurns
from bookgen.render.answers import LENGTH, JobOutcome, WorkerAnswer, receive, result_of

log = structlog.get_logger(__name__)

MEMORY = 2 * 1024**3
TIMEOUT = 60.0
JOBS_A_WORKER = 200  # then the worker is replaced, so that memory leaks stay small
WAITING = 256  # jobs in the queue, about a minute's work for two cores
WAITING_BYTES = 256 * 1024**2
MAX_TRIES = 60  # of `run_patiently`, each after the pool's retry_after


class RenderLoad(NamedTuple):
    """The number of busy and idle workers of a pool, and of jobs that wait for a worker."""

    busy: int
    idle: int
    waiting: int


class RenderPool:
    """A pool of worker processes, started on demand.

    It has one worker per core, up to four, but always more than one account can use at once. Further jobs wait in a
    first-in, first-out queue that is bounded in jobs and in bytes. Callers take a `turn` for the account and `run` its
    job within this turn. Each account has two turns, so at most two of its jobs are here at a time.
    """

    def __init__(
        self,
        *,
        workers: int = 0,
        timeout: float = TIMEOUT,
        waiting: int = WAITING,
        waiting_bytes: int = WAITING_BYTES,
        memory: int = MEMORY,
    ) -> None:
        self._size = workers or max(AT_ONCE + 1, min(4, os.cpu_count() or 1))
        self._timeout = timeout
        self._waiting = waiting
        self._waiting_bytes = waiting_bytes
        self._memory = memory
        self._turns = asyncio.Semaphore(self._size)
        self._accounts = AccountTurns()
        self._queued = self._queued_bytes = 0
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()

    async def close(self) -> None:
        workers = [*self._idle, *self._busy]
        self._idle.clear()
        for worker in workers:
            await worker.kill()

    @property
    def load(self) -> RenderLoad:
        return RenderLoad(len(self._busy), len(self._idle), max(0, self._queued - self._size))

    def turn(self, account_id: int) -> AbstractAsyncContextManager[None]:
        """A context in which the account may run a job.

        Raises RenderingFailed if too many of the account's jobs are already waiting.
        """
        return self._accounts.turn(account_id)

    async def run(self, job: Any) -> Any:
        """Run a job and return its result. Cancelling the caller cancels the job.

        Raises RenderingFailed if too many jobs wait already or the worker process stops, RenderTimeout if the job needs
        too much time or memory, InvalidInput if its input cannot be rendered, and RuntimeError if the renderer fails.
        """
        data = await asyncio.to_thread(pickle.dumps, job, pickle.HIGHEST_PROTOCOL)
        places, room = self._waiting + self._size, self._waiting_bytes - self._queued_bytes
        if self._queued >= places or (self._turns.locked() and len(data) > room):
            raise RenderingFailed("Too many exports are waiting. Try again in a moment.", retry_after=5)
        self._queued += 1
        self._queued_bytes += len(data)
        try:
            async with self._turns:
                return await self._run(data)
        finally:
            self._queued -= 1
            self._queued_bytes -= len(data)

    async def run_patiently(self, account_id: int, job: Any) -> Any:
        """Take a turn for the account and run a job. Retries if too many jobs wait or the worker process stops.

        Raises RenderTimeout after MAX_TRIES such failures. Any other error that `run` raises is passed on without a
        retry.
        """
        tries = 0
        while True:
            try:
                async with self.turn(account_id):
                    return await self.run(job)
            except RenderTimeout:
                raise  # a retry would take just as long
            except RenderingFailed as busy:
                tries += 1
                if tries == MAX_TRIES:
                    raise RenderTimeout(str(busy)) from busy
                await asyncio.sleep(busy.retry_after)

    async def _run(self, data: bytes) -> Any:
        worker: Worker | None = None
        try:
            async with asyncio.timeout(self._timeout):
                worker = await self._idle_worker() or await Worker.start(self._memory)
                self._busy.add(worker)
                answer = await worker.ask(data)
        except TimeoutError:
            log.error(
                "render_timeout",
                seconds=self._timeout,
                to_do="If this happens to several books, check whether the machine is overloaded.",
            )
            raise RenderTimeout(retry_after=30) from None
        except (OSError, EOFError) as error:
            log.error(
                "render_worker_died",
                error=repr(error),
                to_do="If this repeats, look in the system's log for processes that were killed to free memory.",
            )
            raise RenderingFailed("The export process stopped unexpectedly. Try again.", retry_after=5) from None
        finally:
            if worker is not None:
                await self._put_back(worker)
        return result_of(answer)

    async def _idle_worker(self) -> Worker | None:
        """An idle worker that is still alive; None if there is none."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            log.error(
                "render_worker_died",
                error="the process ended between two jobs",
                to_do="The process was idle, so no export was lost. If this repeats, look in the system's log for "
                "processes killed to free memory.",
            )
            await worker.kill()
        return None

    async def _put_back(self, worker: Worker) -> None:
        self._busy.discard(worker)
        if worker.usable and worker.jobs < JOBS_A_WORKER:
            self._idle.append(worker)
        else:
            await worker.kill()


class Worker:
    """One worker process. `usable` is False while it works on a job, and after it ran out of memory."""

    def __init__(self, process: Process, stdin: StreamWriter, stdout: StreamReader) -> None:
        self._process = process
        self._stdin = stdin
        self._stdout = stdout
        self.usable = False
        self.jobs = 0

    @classmethod
    async def start(cls, memory: int) -> Worker:
        """Start a process that may use `memory` bytes, and wait until it is ready."""
        process = await processes.start("bookgen.render.worker", memory)
        if process.stdin is None or process.stdout is None:
            raise OSError("the worker has no pipes")
        worker = cls(process, process.stdin, process.stdout)
        try:
            await receive(worker._stdout.readexactly)
        except BaseException:
            await worker.kill()
            raise
        worker.usable = True
        return worker

    @property
    def alive(self) -> bool:
        """Whether the process still runs and can be sent a job. If not, sending raises RuntimeError under uvloop."""
        return self._process.returncode is None and not self._stdin.is_closing()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, data: bytes) -> WorkerAnswer:
        self.usable = False
        self._stdin.write(LENGTH.pack(len(data)))
        self._stdin.write(data)
        await self._stdin.drain()
        answer = await receive(self._stdout.readexactly)
        self.jobs += 1
        self.usable = answer.outcome is not JobOutcome.EXHAUSTED  # its memory may still be full
        return answer

    async def kill(self) -> None:
        self.usable = False
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
