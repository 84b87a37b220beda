"""Logs when code blocks the event loop, while the loop is still blocked. A blocked loop answers no requests."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable

import structlog

log = structlog.get_logger(__name__)

BEAT_SECONDS = 0.05
LOOK_SECONDS = 0.25
TOLERANCE_SECONDS = 1.0
FRAMES = 6


class Watchdog:
    """A regular task on the event loop (the beat), and a thread that logs when the beat is late.

    The log line says which code blocks the loop. The thread can log even then, because it does not run on the loop.
    `observe` is called after each beat with its delay in seconds.
    """

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._loop_thread = threading.get_ident()
        self._beat = time.monotonic()
        self._ended = threading.Event()

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        beating = asyncio.create_task(self._beats())
        looking = threading.Thread(target=self._look, name="watchdog", daemon=True)
        looking.start()
        try:
            yield
        finally:
            self._ended.set()
            beating.cancel()
            await asyncio.to_thread(looking.join)

    async def _beats(self) -> None:
        while True:
            self._beat = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)
            late = time.monotonic() - self._beat - BEAT_SECONDS
            self._observe(max(late, 0.0))
            if late > TOLERANCE_SECONDS:
                log.warning("event_loop_free_again", seconds=round(late, 1))

    def _look(self) -> None:
        told = 0.0
        while not self._ended.wait(LOOK_SECONDS):
            beat = self._beat
            if beat != told and time.monotonic() - beat > BEAT_SECONDS + TOLERANCE_SECONDS:
                told = beat
                log.warning(
                    "event_loop_blocked",
                    where=self._where(),
                    to_do="If this repeats on a machine that is not overloaded, report it as a bug, with the text of "
                    "`where`.",
                )

    def _where(self) -> list[str]:
        """The innermost stack frames of the thread that runs the event loop."""
        frame = sys._current_frames().get(self._loop_thread)
        calls = traceback.extract_stack(frame)[-FRAMES:] if frame else []
        return [f"{call.filename}:{call.lineno} {call.name}" for call in calls]
