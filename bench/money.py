"""Ten thousand random lives of an account against a real database and a server that speaks Stripe's wire format.

    python -m bench.money [HISTORIES] [--seed N]

Prints what was lived through, and stops at the first history whose books do not add up, with its seed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections import Counter
from random import Random

import structlog

from bookgen.billing.checkout import Payments
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.store.database import open_pool
from tests.billing.conftest import Clock
from tests.billing.histories import DEEDS, History
from tests.conftest import TEMPLATE, Cluster
from tests.fakes.stripe_server import FakeStripe

COUNTED = """
    SELECT (SELECT count(*) FROM consumption) AS "runs completed",
           (SELECT count(*) FROM consumption WHERE source = 'credits') AS "of them by credits",
           (SELECT count(*) FROM credit_transaction WHERE kind = 'purchase') AS "purchases of credits",
           (SELECT count(*) FROM credit_transaction WHERE kind = 'refund') AS "credits taken back",
           (SELECT count(*) FROM payment_event) AS "events applied",
           (SELECT count(*) FROM subscription WHERE processor_id IS NOT NULL) AS "accounts that bought a plan"
"""


async def live(dsn: str, histories: int, seed: int) -> None:
    clock = Clock()
    pool = await open_pool(dsn, size=8)
    stripe = FakeStripe(clock=lambda: clock().timestamp())
    gateway = Gateway("sk_test_bookgen", api_base=await stripe.start())
    payments = Payments(pool, gateway, public_url="https://books.test", webhook_secrets=["whsec_test"], clock=clock)
    quota = Quota(billing=True, clock=clock)
    deeds: Counter[str] = Counter()
    started = time.perf_counter()
    for number in range(seed, seed + histories):
        random = Random(number)
        life = [(random.choice(DEEDS), random.randrange(2**16)) for _ in range(random.randint(10, 40))]
        try:
            await History(pool, stripe, payments, quota, clock).live(life)
        except BaseException:
            print(f"history {number} does not add up: {life}", flush=True)
            raise
        deeds.update(name for name, _ in life)
        if (number - seed + 1) % 1000 == 0:
            print(f"{number - seed + 1} histories, {time.perf_counter() - started:.0f} s", flush=True)
    print(f"{histories} histories, {deeds.total()} deeds, {time.perf_counter() - started:.0f} s: all books add up")
    for name, count in itertools.chain(deeds.most_common(), (await pool.fetchrow(COUNTED)).items()):
        print(f"{count:>8}  {name}")
    await payments.close()
    await stripe.stop()
    await pool.close()


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
