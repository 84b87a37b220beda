"""Worker processes: starting them, their environment, their memory limit and their low priority.

This module also has `give_to_owner_of`, which changes the owner of files that this process creates as root.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterable
from pathlib import Path
from typing import BinaryIO

# Environment variables that a worker inherits: search paths, language and temporary folder, but no secrets.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
STEPS_BACK = 5  # added to the niceness of a worker


def clean_environment() -> dict[str, str]:
    """The environment of a worker: only the variables in INHERITED, and the module search path."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {"PYTHONPATH": _search_path()}


def _search_path() -> str:
    """The value of PYTHONPATH with which a worker finds the same bookgen package as this process."""
    own = str(Path(__file__).parents[1])
    return os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])


def give_to_owner_of(folder: Path, descriptor: int) -> None:
    """If this process runs as root, give an open file or folder to the owner of the `folder` that contains it."""
    if os.geteuid() == 0 and (status := folder.stat()).st_uid != os.fstat(descriptor).st_uid:
        os.fchown(descriptor, status.st_uid, status.st_gid)


def begin() -> BinaryIO:
    """Set up this process as a worker: limit its memory to the command-line argument, and lower its priority.

    Returns the stream for answers. Anything that is printed to stdout afterwards goes to the log instead.
    """
    _limit_memory(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    _step_back()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _step_back() -> None:
    """Lower the priority of this process, so that the service comes first on a busy machine.

    On Linux, a session can be a scheduling group of its own (autogroup). Niceness only counts within the group, so the
    group's priority is lowered too.
    """
    if hasattr(os, "nice"):
        os.nice(STEPS_BACK)
    for _ in range(10):
        try:
            Path("/proc/self/autogroup").write_text(str(STEPS_BACK))
        except BlockingIOError:  # another process has just done it
            time.sleep(0.1)
        except OSError:  # this system has no autogroups
            return
        else:
            return


async def start(module: str, memory: int) -> Process:
    """Start `python -m MODULE MEMORY` with pipes for stdin and stdout. What it prints to stderr goes to our log."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        str(memory),
        stdin=PIPE,
        stdout=PIPE,
        stderr=None if sys.stderr else DEVNULL,
        env=clean_environment(),
        start_new_session=True,  # a Ctrl-C in the terminal only reaches the service, which then ends the worker
    )


async def answer(process: Process, question: AsyncIterable[bytes], seconds: float) -> bytes:
    """Send the parts of `question` to the process and return its whole output.

    If the caller is cancelled, the process is killed. Raises ChildProcessError if the process fails, and TimeoutError
    if the process takes longer than `seconds` to read a part or to answer. The time that the caller takes to produce
    the parts does not count.
    """
    try:
        async for part in question:
            async with asyncio.timeout(seconds):
                await _say(process, part)
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ChildProcessError(f"process {process.pid} failed with exit code {process.returncode}")
    return output


async def _say(process: Process, part: bytes) -> None:
    if process.stdin is None:
        raise ChildProcessError(f"process {process.pid} has no stdin")
    process.stdin.write(part)
    await process.stdin.drain()


def _limit_memory(most: int) -> None:
    """Limit the address space of this process to `most` bytes; 0 means no limit.

    If a book needs too much memory, only the job in this process fails, and the machine is not affected.
    """
    if most and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
