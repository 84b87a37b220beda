"""A normal account next to a hostile one: how much the first one notices, and what the service uses meanwhile.

    python -m bench.hostile [--seconds 40] [--only copy,write]

The service is started by its own command, with its default limits and plans. The normal ("calm") account polls and
exports a book, first alone and then while the hostile account does everything it can at once (`attack.py`). The hostile
client runs at a lower priority than the service, because in reality it is on another machine. The results mean nothing
on a machine that is busy with other work; for this, the time that the service waited for a core is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bench.hostile.attack import WAYS
from bench.service.machine import cpu_seconds, family, memory_mib
from bench.service.processes import ROOT, ServerProcess, free_port, settings, start, until_ready
from bench.service.scorecard import Scorecard

POLL_SECONDS, EXPORT_SECONDS = 0.25, 3.2
PASSWORD = "a password of the bench"
LAG = re.compile(r'bookgen_event_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)')
Counts = dict[float, float]


@dataclass
class Felt:
    """The durations of the calm account's calls in seconds, and the number of 5xx responses."""

    polls: list[float] = field(default_factory=list)
    exports: list[float] = field(default_factory=list)
    failures: int = 0

    def show(self, when: str) -> None:
        for name, seconds in (("polls", self.polls), ("exports", self.exports)):
            print(f"{when:<8}{name:<8}{len(seconds):5}  median {p(50, seconds):6.1f} ms  p99 {p(99, seconds):7.1f} ms")


def p(percent: int, seconds: list[float]) -> float:
    """A percentile, in milliseconds."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)] * 1e3


class Calm:
    """An account that works on one book."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http, self._url = http, url
        self.token, self._book, self._made = "", 0, 0

    async def sign_up(self, name: str) -> str:
        form = {"username": name, "email": f"{name}@example.com", "password": PASSWORD}
        self.token = (await self._call("POST", "/auth/register/", form))[1]["tokens"]["access"]
        return self.token

    async def write(self) -> None:
        form = {"title": "Calm", "chapter_count": 4, "target_word_count": 6_000}
        self._book = (await self._call("POST", "/books/", form))[1]["id"]
        for step in ("generate-outline", "generate"):
            await self._call("POST", f"/books/{self._book}/{step}/")
        while (await self._status())["generation_status"] != "completed":
            await asyncio.sleep(0.2)

    async def feel(self, seconds: float) -> Felt:
        felt = Felt()
        end = time.monotonic() + seconds
        await asyncio.gather(
            self._paced(end, POLL_SECONDS, felt, felt.polls, self._poll),
            self._paced(end, EXPORT_SECONDS, felt, felt.exports, self._export),
        )
        return felt

    async def _paced(self, end: float, every: float, felt: Felt, into: list[float], call: Any) -> None:
        while (began := time.monotonic()) < end:
            felt.failures += await call() >= 500
            into.append(time.monotonic() - began)
            await asyncio.sleep(max(0.0, began + every - time.monotonic()))

    async def _poll(self) -> int:
        return (await self._call("GET", f"/books/{self._book}/generation-status/"))[0]

    async def _export(self) -> int:
        """Export a file that is not cached yet."""
        self._made += 1
        told = {"settings": {"dedication": f"Number {self._made}"}}
        return (await self._call("POST", f"/books/{self._book}/export_pdf/", told))[0]

    async def _status(self) -> Any:
        return (await self._call("GET", f"/books/{self._book}/generation-status/"))[1]

    async def _call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        async with self._http.request(method, self._url + path, json=body, headers=headers) as answer:
            raw = await answer.read()
            return answer.status, json.loads(raw) if answer.content_type == "application/json" else None


async def lag(http: aiohttp.ClientSession, port: int) -> Counts:
    """By bound in seconds: how many samples found the loop at most that late (cumulative)."""
    async with http.get(f"http://127.0.0.1:{port}/metrics") as answer:
        return {float(bound): float(count) for bound, count in LAG.findall(await answer.text())}


def p99_of(before: Counts, after: Counts) -> float:
    """The bound of the bucket with the 99th percentile, in milliseconds."""
    looks = {bound: after[bound] - before[bound] for bound in after}
    return min(bound for bound, count in looks.items() if count >= 0.99 * looks[float("inf")]) * 1e3


async def most_memory(server: ServerProcess) -> float:
    """The peak memory of the service and its workers, in MiB, sampled until this is cancelled."""
    most = 0.0
    try:
        while True:
            most = max(most, await asyncio.to_thread(lambda: memory_mib(service_of(server.pid))))
            await asyncio.sleep(0.5)
    except asyncio.CancelledError:
        return most


def service_of(pid: int) -> list[int]:
    """The service's processes, without its database server."""
    return [each for each in family(pid) if b"postgres" not in Path(f"/proc/{each}/cmdline").read_bytes()[:200]]


def loop_seconds(pid: int) -> tuple[float, float]:
    """Seconds that the service's main thread ran, and seconds that it was runnable but waited for a core."""
    ran, waited, _slices = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


def cpu(pid: int) -> dict[str, float]:
    """CPU seconds so far: of the event loop, the other threads, the workers, and the database."""
    processes, loop = service_of(pid), loop_seconds(pid)[0]
    return {
        "loop": loop,
        "threads": cpu_seconds([pid]) - loop,
        "workers": cpu_seconds(each for each in processes if each != pid),
        "database": cpu_seconds(each for each in family(pid) if each not in processes),
    }


def give_way(session: int) -> None:
    """Lower the priority of the session: with autogrouping, the kernel ignores niceness across sessions."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{session}/autogroup").write_text("15")


async def measure(server: ServerProcess, seconds: float, ways: Sequence[str], scores: Scorecard) -> None:
    url = f"http://127.0.0.1:{server.port}/api/v1"
    async with aiohttp.ClientSession() as http:
        calm, other = Calm(http, url), Calm(http, url)
        await calm.sign_up("calm")
        await calm.write()
        alone = await calm.feel(seconds)
        attack = await asyncio.create_subprocess_exec(
            "nice", "-n", "15", sys.executable, "-m", "bench.hostile.attack", str(server.port),
            await other.sign_up("hostile"), str(seconds + 5), *ways,
            stdout=asyncio.subprocess.PIPE, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        give_way(attack.pid)
        assert attack.stdout is not None
        await attack.stdout.readline()
        before, memory = await lag(http, server.port), asyncio.create_task(most_memory(server))
        waited, used = loop_seconds(server.pid)[1], cpu(server.pid)
        beside = await calm.feel(seconds)
        waited = loop_seconds(server.pid)[1] - waited
        shares = {who: (now - used[who]) / seconds for who, now in cpu(server.pid).items()}
        late = p99_of(before, await lag(http, server.port))
        memory.cancel()
        answers = json.loads((await attack.communicate())[0])
    alone.show("alone")
    beside.show("beside")
    print(f"the hostile account's answers: {dict(sorted(answers.items()))}")
    print("during the attack, shares of a core: " + ", ".join(f"{who} {share:.0%}" for who, share in shares.items()))
    print(f"during the attack, the service's loop waited for a core for {waited / seconds:.0%} of the time")
    scores.at_most("calm polls, p99 during the attack / alone", p(99, beside.polls) / p(99, alone.polls), 3)
    scores.at_most("calm exports, p99 during the attack / alone", p(99, beside.exports) / p(99, alone.exports), 3)
    scores.at_most("calm 5xx", beside.failures, 0)
    scores.at_most("memory of the service", await memory, 600, "MiB")
    scores.at_most("loop lag, p99", late, 50, "ms")


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument(
        "--only", default=",".join(WAYS), help="the attacks of the hostile account (default: %(default)s)"
    )
    asked = parser.parse_args()
    folder, scores = Path(tempfile.mkdtemp(prefix="bookgen-hostile-")), Scorecard()
    port, log = free_port(), folder / "service.log"
    env = settings(port, "", folder / "data", BOOKGEN_BILLING="on", BOOKGEN_PUBLIC_URL=f"http://127.0.0.1:{port}")
    shipped = {name: value for name, value in env.items() if not name.startswith("BOOKGEN_RATE_")}
    server = ServerProcess(await start([sys.executable, "-m", "bookgen", "serve"], shipped, log), port, log)
    try:
        await until_ready(server)
        await measure(server, asked.seconds, asked.only.split(","), scores)
    finally:
        await server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    scores.show()
    sys.exit(not all(bar.passed for bar in scores.bars))


if __name__ == "__main__":
    asyncio.run(main())
