"""Ten thousand random lives of an account against a real database and a server that speaks Stripe's wire format.

    python -m bench.money [HISTORIES] [--seed N]

Prints what happened. Stops at the first history whose accounts do not add up, and prints its seed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random

import asyncpg
import structlog

from bookgen.billing.checkout import Payments
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.store.database import open_pool
from tests.billing.conftest import Clock
from tests.billing.histories import DEEDS, History
from tests.conftest import Cluster
from tests.databases import TEMPLATE
from tests.fakes.stripe_server import SECRET_KEY, FakeStripe

UNIVERSES = 6

COUNTED = """
    SELECT (SELECT count(*) FROM consumption) AS "runs completed",
           (SELECT count(*) FROM consumption WHERE source = 'credits') AS "of them by credits",
           (SELECT count(*) FROM credit_transaction WHERE kind = 'purchase') AS "purchases of credits",
           (SELECT count(*) FROM credit_transaction WHERE kind = 'refund') AS "credits taken back",
           (SELECT count(*) FROM payment_event) AS "events applied",
           (SELECT count(*) FROM subscription WHERE processor_id IS NOT NULL) AS "accounts that bought a plan"
"""


async def live(dsn: str, histories: int, seed: int) -> None:
    pool = await open_pool(dsn, size=2 * UNIVERSES, patience=30.0)
    seeds = iter(range(seed, seed + histories))
    progress = Progress(histories)
    await asyncio.gather(*(universe(str(number), pool, seeds, progress) for number in range(UNIVERSES)))
    progress.end((await pool.fetchrow(COUNTED)).items())
    await pool.close()


async def universe(name: str, pool: asyncpg.Pool, seeds: Iterator[int], progress: Progress) -> None:
    """Runs histories one after the other on one database, each with its own processor and clock."""
    clock = Clock()
    stripe = FakeStripe(clock=lambda: clock().timestamp(), account=f"{name}x")
    gateway = Gateway(SECRET_KEY, api_base=await stripe.start())
    payments = Payments(pool, gateway, public_url="https://books.test", webhook_secrets=[stripe.secret], clock=clock)
    quota = Quota(billing=True, clock=clock)
    for seed in seeds:
        random = Random(seed)
        life = [(random.choice(DEEDS), random.randrange(2**16)) for _ in range(random.randint(10, 40))]
        try:
            await History(pool, stripe, payments, quota, clock).live(life)
        except BaseException:
            print(f"history {seed} does not add up: {life}", flush=True)
            raise
        progress.lived(life)
    await payments.close()
    await stripe.stop()


class Progress:
    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._done = 0
        self._deeds: Counter[str] = Counter()
        self._started = time.perf_counter()

    def lived(self, life: list[tuple[str, int]]) -> None:
        self._done += 1
        self._deeds.update(name for name, _ in life)
        if self._done % 500 == 0:
            print(f"{self._done} of {self._wanted} histories, {self._seconds():.0f} s", flush=True)

    def end(self, counted: Iterable[tuple[str, int]]) -> None:
        print(f"{self._done} histories, {self._deeds.total()} deeds, {self._seconds():.0f} s: all books add up")
        for name, count in itertools.chain(self._deeds.most_common(), counted):
            print(f"{count:>8}  {name}")

    def _seconds(self) -> float:
        return time.perf_counter() - self._started


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.money")
    parser.add_argument("histories", nargs="?", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    cluster = Cluster()
    try:
        asyncio.run(live(cluster.dsn.replace("/postgres?", f"/{TEMPLATE}?"), args.histories, args.seed))
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
