"""Worker processes for rendering, so that the event loop never does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import Process
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog

from bookgen import processes
from bookgen.errors import RenderingFailed, RenderTimeout
from bookgen.render.answers import LENGTH, JobOutcome, WorkerAnswer, receive, result_of
from bookgen.render.turns import AT_ONCE, AccountTurns

log = structlog.get_logger(__name__)

MEMORY = 2 * 1024**3
TIMEOUT = 60.0
JOBS_A_WORKER = 200  # then it is replaced, so that no leak grows for ever
WAITING = 256  # jobs of a hundred accounts and more; a minute's work for two cores
WAITING_BYTES = 256 * 1024**2
MAX_TRIES = 60  # of a job that has time, each after as long as was asked for


class RenderPool:
    """As many workers as there is work for: at most four and one a core, but one more than an account has jobs at once.

    The rest waits in a queue that is bounded in jobs and in bytes, first come, first served: since each account has two
    places in it at most, no account's jobs go before another's next one for long.
    The first job starts the first: a service that renders nothing has none of their memory.
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

    def turn(self, account_id: int) -> AbstractAsyncContextManager[None]:
        """Within it, an account may have a job run. RenderingFailed when too many of its own wait already."""
        return self._accounts.of(account_id)

    async def run(self, job: Any) -> Any:
        """The job's result; who does not wait for it any more calls it off.

        RenderingFailed when too many wait already, RenderTimeout when it takes too long, InvalidInput.
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
        """The job's result, in a turn of the account's; while there is no room for it, it is tried again.

        RenderTimeout when it takes too long or finds none, InvalidInput.
        """
        tries = 0
        while True:
            try:
                async with self.turn(account_id):
                    return await self.run(job)
            except RenderTimeout:
                raise  # it would take as long again
            except RenderingFailed as busy:
                tries += 1
                if tries == MAX_TRIES:
                    raise RenderTimeout(str(busy)) from busy
                await asyncio.sleep(busy.retry_after)

    async def _run(self, data: bytes) -> Any:
        worker: Worker | None = None
        try:
            async with asyncio.timeout(self._timeout):
                worker = self._idle.pop() if self._idle else await Worker.start(self._memory)
                self._busy.add(worker)
                answer = await worker.ask(data)
        except TimeoutError:
            log.error("render_timeout", seconds=self._timeout)
            raise RenderTimeout(retry_after=30) from None
        except (OSError, EOFError) as error:
            log.error("render_worker_died", error=repr(error))
            raise RenderingFailed("The export process stopped unexpectedly. Try again.", retry_after=5) from None
        finally:
            if worker is not None:
                await self._put_back(worker)
        return result_of(answer)

    async def _put_back(self, worker: Worker) -> None:
        self._busy.discard(worker)
        if worker.usable and worker.jobs < JOBS_A_WORKER:
            self._idle.append(worker)
        else:
            await worker.kill()


class Worker:
    """One process. `usable` is false from the moment a job goes in until its answer is out."""

    def __init__(self, process: Process, stdin: StreamWriter, stdout: StreamReader) -> None:
        self._process = process
        self._stdin = stdin
        self._stdout = stdout
        self.usable = False
        self.jobs = 0

    @classmethod
    async def start(cls, memory: int) -> Worker:
        """A process that may have so many bytes, once it says that it is ready."""
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
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, data: bytes) -> WorkerAnswer:
        self.usable = False
        self._stdin.write(LENGTH.pack(len(data)))
        self._stdin.write(data)
        await self._stdin.drain()
        answer = await receive(self._stdout.readexactly)
        self.jobs += 1
        self.usable = answer.outcome is not JobOutcome.EXHAUSTED  # what filled it may still be there
        return answer

    async def kill(self) -> None:
        self.usable = False
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
