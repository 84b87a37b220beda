"""Random histories of free accounts over HTTP, and what the provider did for them compared with what their plan allows.

    python -m tests.http.free_histories [HISTORIES] [--seed N] [--workers N] [--accounts N]      or: make histories

Each worker is a process with a service, a database and providers of its own, on which many accounts live side by side,
since a history mostly waits. The plan's allowances are small (`SMALL`), so that a short history reaches them.
`free_oracle` judges a history by the provider's own notes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import structlog

from bookgen import processes
from bookgen.billing import failed_jobs, outlines
from bookgen.providers.access import Access
from bookgen.providers.registry import ModelSettings, build_image_model, build_text_model
from tests.databases import Databases, Lent
from tests.http.conftest import PASSWORD, Api, serving
from tests.http.free_deeds import FreeAccount
from tests.http.free_models import AllNotes, NotingModels, NotingPictures
from tests.http.free_oracle import FAILURES, FREE_BOOKS, SMALL, Judge, Tally
from tests.http.spending import IMAGE_MODEL, TEXT_MODEL
from tests.programs import start_worker, until_loaded

OF_A_UNIVERSE = 50  # histories, so that its database stays small
ACCOUNTS = 16  # of a worker at a time
MOST_CALLS = 64  # at once
SETTLED_SECONDS = 30.0  # in which the service enters the last calls in its ledger, of which it gives no signal

SHRINK = "UPDATE plan SET features = features || $1 WHERE slug = 'free'"
VERIFY = "UPDATE account SET email_verified = true WHERE id = $1"


class Universe:
    """A service with a database and providers of its own, on which accounts live side by side."""

    def __init__(self, api: Api, notes: AllNotes) -> None:
        self._api, self._notes = api, notes

    async def live(self, seed: int) -> tuple[Tally, Counter[str]]:
        """Live one history and judge it. Raises AssertionError with its seed."""
        api, notes = await self._registered(seed), self._notes.of(seed)
        account = FreeAccount(api, notes, seed)
        try:
            done = await account.live()
            judge = Judge(
                api.services.database.http, api.account_id, seed, notes, account.answers, account.started, account.cuts
            )
            return await _settled(judge), done
        except AssertionError as violation:
            raise AssertionError("\n    ".join([str(violation), *map(str, notes.calls)])) from None
        except TimeoutError:
            left = await account.unfinished_in_words()
            raise AssertionError(f"history {seed}: its work did not end\n    {left}") from None
        finally:
            self._notes.forget(seed)

    async def _registered(self, seed: int) -> Api:
        api = await self._api.as_nobody()
        api.extra = {"X-Forwarded-For": f"10.{seed >> 8 & 255}.{seed & 255}.1"}  # registrations are limited by network
        form = {"username": f"reader{seed}", "email": f"reader{seed}@example.com", "password": PASSWORD}
        registered = await api.post("/auth/register/", form)
        assert registered.status == 201, registered.body
        api.account_id, api.access = registered.body["user"]["id"], registered.body["tokens"]["access"]
        await api.services.database.http.execute(VERIFY, api.account_id)
        return api


async def _settled(judge: Judge) -> Tally:
    due = time.monotonic() + SETTLED_SECONDS
    while True:
        try:
            return await judge.check()
        except AssertionError:
            if time.monotonic() > due:
                raise
        await asyncio.sleep(0.25)


@contextlib.asynccontextmanager
async def universe(lent: Lent, folder: Path) -> AsyncIterator[Universe]:
    database, notes = await lent.database(), AllNotes()
    await database.http.execute(SHRINK, SMALL)
    async with NotingModels(notes) as models, NotingPictures(notes) as images:
        access = {"anthropic": Access("key", models.anthropic_url), "openai": Access("key", images.url)}
        told = ModelSettings(access=access, retry_delay=0.001, tries=1, concurrency=MOST_CALLS)
        settings: dict[str, Any] = {"billing": "on", "trusted_proxies": "127.0.0.0/8", "chapters_at_once": MOST_CALLS}
        settings["model"] = build_text_model(TEXT_MODEL, told)
        settings["images"] = build_image_model(IMAGE_MODEL, told)
        async with serving(database, folder, **settings) as api:
            yield Universe(api, notes)


@contextlib.contextmanager
def small_allowances() -> Iterator[None]:
    """The allowances that are no part of a plan, small enough for short histories."""
    with (
        mock.patch.object(failed_jobs, "FREE_A_PERIOD", FAILURES),
        mock.patch.object(outlines, "MIN_BOOKS", FREE_BOOKS),
    ):
        yield


@dataclass
class HistoryFigures:
    lived: int = 0
    done: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    spending: int = 0  # histories that used all of an allowance
    cpu_seconds: float = 0.0

    def add(self, tally: Tally, done: Counter[str]) -> None:
        self.lived += 1
        self.done += done
        for name, (used, allowed) in tally.items():
            self.most[name] = max(self.most[name], used)
            self.spent[name] += used >= allowed
        self.spending += any(used >= allowed for used, allowed in tally.values())

    def join(self, other: HistoryFigures) -> None:
        self.lived += other.lived
        self.done += other.done
        self.most |= other.most
        self.spent += other.spent
        self.spending += other.spending
        self.violations += other.violations
        self.cpu_seconds += other.cpu_seconds

    def print(self, seconds: float) -> None:
        print(f"{self.lived} histories, {self.done.total()} deeds, {seconds:.0f} s, {self.cpu_seconds:.0f} s of CPU in "
              f"the services, {len(self.violations)} violations")  # fmt: skip
        print(f"{self.spending} histories used all of an allowance")
        for name, count in self.done.most_common():
            print(f"{count:>8}  {name}")
        for name, most in sorted(self.most.items()):
            print(f"{most:>8}  most {name} in a history; {self.spent[name]} histories used all of theirs")


async def _live_all(cluster_dsn: str, seeds: Sequence[int], accounts: int) -> HistoryFigures:
    figures, rest, databases, began = HistoryFigures(), iter(seeds), Databases(cluster_dsn), time.process_time()

    async def one_by_one(lived: Universe) -> None:
        for seed in rest:
            try:
                figures.add(*await lived.live(seed))
            except AssertionError as violation:
                figures.violations.append(str(violation))
                print(violation, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        async with databases.lent() as lent, universe(lent, Path(folder)) as lived:
            await asyncio.gather(*(one_by_one(lived) for _ in range(accounts)))
    databases.close()
    figures.cpu_seconds = time.process_time() - began
    return figures


def _in_a_universe(seeds: Sequence[int], *, cluster_dsn: str, accounts: int) -> HistoryFigures:
    with small_allowances():
        return asyncio.run(_live_all(cluster_dsn, seeds, accounts))


def _begin_worker() -> None:
    processes.start = start_worker  # type: ignore[assignment]
    until_loaded()  # otherwise the first covers wait for it
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))


def play(cluster_dsn: str, seeds: Iterable[int], workers: int, accounts: int) -> HistoryFigures:
    """Live these histories and print the progress."""
    every, began, rest = HistoryFigures(), time.perf_counter(), iter(seeds)
    parts = iter(lambda: list(itertools.islice(rest, OF_A_UNIVERSE)), [])
    one = partial(_in_a_universe, cluster_dsn=cluster_dsn, accounts=accounts)
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker, max_tasks_per_child=1) as pool:
        for figures in pool.map(one, parts):
            every.join(figures)
            print(f"{every.lived} histories, {time.perf_counter() - began:.0f} s", flush=True)
    every.print(time.perf_counter() - began)
    return every


def main() -> None:
    from tests.conftest import Cluster

    parser = argparse.ArgumentParser(prog="python -m tests.http.free_histories")
    parser.add_argument("histories", nargs="?", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--accounts", type=int, default=ACCOUNTS, help="that live side by side in a worker")
    given = parser.parse_args()
    cluster = Cluster()
    try:
        seeds = range(given.seed, given.seed + given.histories)
        figures = play(cluster.dsn, seeds, given.workers, given.accounts)
    finally:
        cluster.close()
    raise SystemExit(1 if figures.violations else 0)


if __name__ == "__main__":
    main()
