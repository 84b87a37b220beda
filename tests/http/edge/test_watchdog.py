import asyncio
import io
import threading
import time

from bookgen.http.edge.watchdog import TOLERANCE_SECONDS, Watchdog


def hold_the_loop(seconds: float) -> None:
    time.sleep(seconds)


async def test_a_blocked_event_loop_is_reported_with_the_code_that_blocks_it(log_lines: io.StringIO) -> None:
    late: list[float] = []
    free = asyncio.Event()

    def observe(seconds: float) -> None:
        late.append(seconds)
        if seconds > TOLERANCE_SECONDS:
            free.set()

    async with Watchdog(observe).watching():
        await asyncio.sleep(0)
        hold_the_loop(3.0)
        told = log_lines.getvalue()
        await free.wait()

    assert "event_loop_blocked" in told
    assert "hold_the_loop" in told
    assert max(late) > TOLERANCE_SECONDS
    assert "event_loop_free_again" in log_lines.getvalue()


async def test_a_free_event_loop_is_not_reported_and_the_thread_ends(log_lines: io.StringIO) -> None:
    beats = asyncio.Semaphore(0)

    async with Watchdog(lambda _: beats.release()).watching():
        for _ in range(3):
            await beats.acquire()

    assert "event_loop" not in log_lines.getvalue()
    assert not [thread for thread in threading.enumerate() if thread.name == "watchdog"]
