"""Processes that work for the service: how one is started, what it inherits, what it may have, that it gives way."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterable
from pathlib import Path
from typing import BinaryIO

# Where programs, libraries and files for a moment are, and in which language. No secret.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
STEPS_BACK = 5


def clean_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {"PYTHONPATH": _search_path()}


def _search_path() -> str:
    """The process finds the package wherever this one has found it."""
    own = str(Path(__file__).parents[1])
    return os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])


def begin() -> BinaryIO:
    """What such a process does first: it keeps to the memory that its argument names, and gives way to the service.

    What goes into the stream is its answer; whatever prints, prints to the log.
    """
    _limit_memory(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    _step_back()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _step_back() -> None:
    """Makes this process give way to the service: where the machine is busy, who answers comes first.

    On Linux a session of its own may have a share of its own, which no niceness of a process changes.
    """
    if hasattr(os, "nice"):
        os.nice(STEPS_BACK)
    for _ in range(10):
        try:
            Path("/proc/self/autogroup").write_text(str(STEPS_BACK))
        except BlockingIOError:  # another process has just done it
            time.sleep(0.1)
        except OSError:  # there are no such shares here
            return
        else:
            return


async def start(module: str, memory: int) -> Process:
    """`python -m MODULE MEMORY`, with pipes for its input and output; what it complains of is in our log."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        str(memory),
        stdin=PIPE,
        stdout=PIPE,
        stderr=None if sys.stderr else DEVNULL,
        env=clean_environment(),
        start_new_session=True,  # a Ctrl-C in the terminal is for the service, which then closes it
    )


async def answer(process: Process, question: AsyncIterable[bytes], seconds: float) -> bytes:
    """All that the process says once it has heard the whole question.

    ChildProcessError when it failed; TimeoutError when hearing a part of the question, or the answer, takes it longer
    than `seconds`. How long the question takes to be made is no matter. Who does not wait for it any more ends it.
    """
    try:
        async for part in question:
            async with asyncio.timeout(seconds):
                await _say(process, part)
        async with asyncio.timeout(seconds):
            said, _ = await process.communicate(b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ChildProcessError(f"process {process.pid} ended with {process.returncode}")
    return said


async def _say(process: Process, part: bytes) -> None:
    if process.stdin is None:
        raise ChildProcessError(f"process {process.pid} hears nothing")
    process.stdin.write(part)
    await process.stdin.drain()


def _limit_memory(most: int) -> None:
    """So many bytes of address space for this process, 0: any.

    One book can't take the whole machine: the allocation fails, and with it the job alone.
    """
    if most and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
