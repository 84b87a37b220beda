"""Kills the process before each step of a flow in turn, lets the world go on, and prints how it ended.

    python -m tests.billing.dying DSN STRIPE_URL FLOW...

A step is what outlives the process: a COMMIT, a statement outside a transaction that may write, or a call that changes
something at the payment processor. Between two steps a death leaves the same rows wherever it comes, since an open
transaction is rolled back, so one death before each step stands for all of them. The script imports everything once and
forks for each life that ends, so that a death costs milliseconds; what survives it has one pool.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import aiohttp
import stripe  # noqa: F401 (imported before the forks, as a running service has it)

from bookgen.billing.checkout import HostedCheckout, Payments, ReturnUrls
from bookgen.billing.gateway import Gateway
from bookgen.billing.quota import Quota
from bookgen.store import holds
from bookgen.store.database import Connection, open_pool
from tests.databases import RESTORE
from tests.fakes.stripe_server import SECRET_KEY, WEBHOOK_SECRET

NOWHERE = ReturnUrls()
READS = (".retrieve", ".list")  # calls to the processor that change nothing
DSN, STRIPE = sys.argv[1:3]

STATE = """
    SELECT (SELECT coalesce(sum(balance), 0) FROM wallet) AS balance,
           (SELECT count(*) FROM credit_transaction) AS ledger_rows,
           (SELECT count(*) FROM account) AS accounts,
           (SELECT count(*) FROM mail) AS mails,
           (SELECT string_agg(p.slug || ' ' || s.status, ', ')
              FROM subscription s JOIN plan p ON p.id = s.plan_id) AS plans,
           (SELECT string_agg(p.slug || ' ' || s.next_interval, ', ')
              FROM subscription s JOIN plan p ON p.id = s.next_plan_id) AS planned,
           (SELECT count(*) FROM hold) AS holds,
           (SELECT count(*) FROM consumption) AS consumptions,
           (SELECT coalesce(sum(books_created), 0) FROM usage_period) AS books,
           (SELECT count(*) FROM checkout WHERE status = 'paid' AND session_id IS NOT NULL) AS paid
"""

BOOK = """
    INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
    VALUES ($1, $2, 1, 10000, '6x9', 'en')
"""

# What happens before the flow in which the process dies.
BEFORE = {"upgrade": "plan", "downgrade": "yearly_plan", "comeback": "canceled_plan", "completion": "credits"}


class PaymentWorld:
    """What continues without the service: a buyer who tries again, and a processor that sends events again."""

    def __init__(self, pool: Any, http: aiohttp.ClientSession) -> None:
        self.pool = pool
        self.http = http
        gateway = Gateway(SECRET_KEY, api_base=STRIPE)
        self.payments = Payments(pool, gateway, public_url="https://books.test", webhook_secrets=[WEBHOOK_SECRET])
        self.quota = Quota(billing=True)

    async def credits(self) -> None:
        account = await self.pool.fetchval("SELECT id FROM account")
        if not await self._paid("payment"):
            await self._pay(await self.payments.buy_credits(account, "five-pack", NOWHERE))
        await self._deliver()

    async def guest(self) -> None:
        if not await self._paid("payment"):
            await self._pay(await self.payments.buy_credits(None, "five-pack", NOWHERE))
        await self._deliver()

    async def plan(self) -> None:
        account = await self.pool.fetchval("SELECT id FROM account")
        if not await self._paid("subscription"):
            await self._pay(await self.payments.buy_plan(account, "starter", "monthly", NOWHERE))
        await self._deliver()

    async def upgrade(self) -> None:
        account = await self.pool.fetchval("SELECT id FROM account")
        if (await self.quota.plan(self.pool, account)).slug != "pro":
            await self.payments.buy_plan(account, "pro", "monthly", NOWHERE)
        await self._deliver()

    async def yearly_plan(self) -> None:
        account = await self.pool.fetchval("SELECT id FROM account")
        await self._pay(await self.payments.buy_plan(account, "pro", "yearly", NOWHERE))
        await self._deliver()

    async def downgrade(self) -> None:
        """A smaller plan at the end of the period. The buyer retries until the current plan shows it."""
        account = await self.pool.fetchval("SELECT id FROM account")
        await self.payments.buy_plan(account, "starter", "monthly", NOWHERE)
        await self._deliver()

    async def canceled_plan(self) -> None:
        """A plan that will not renew."""
        await self.plan()
        [subscription] = await self.objects("subscription")
        await self.http.post(f"{STRIPE}/hand/cancel-later/{subscription['id']}")
        await self._deliver()

    async def comeback(self) -> None:
        """An upgrade that undoes the cancellation."""
        await self.upgrade()

    async def completion(self) -> None:
        """A run on the plan's last book, and one on a credit."""
        account = await self.pool.fetchval("SELECT id FROM account")
        for book in [row["id"] for row in await self.pool.fetch("SELECT id FROM book ORDER BY id")]:
            await self._write(account, book, uuid5(NAMESPACE_URL, f"{account}/{book}"))

    async def _write(self, account: int, book: int, run: UUID) -> None:
        done = await self.pool.fetchval("SELECT count(*) FROM consumption WHERE run_id = $1", run)
        if not done and await holds.find_by_run(self.pool, run) is None:
            async with self.pool.acquire() as connection, connection.transaction():
                standing = await self.quota.standing(connection, account)
                await self.quota.hold_book(connection, standing, book, run, 10_000)
        async with self.pool.acquire() as connection, connection.transaction():
            await self.quota.consume_book(connection, account, book, run, 9_000)

    async def _pay(self, bought: Any) -> None:
        assert isinstance(bought, HostedCheckout)
        await self.http.post(f"{STRIPE}/hand/pay/{bought.session_id}", json={"email": "guest@example.com"})

    async def _deliver(self) -> None:
        async with self.http.get(f"{STRIPE}/hand/deliveries") as reply:
            for body, signature in await reply.json():
                await self.payments.receive(body.encode(), signature)

    async def prepare(self, flow: str) -> None:
        """The state before the flow, which an earlier life may have begun."""
        await self.pool.execute(RESTORE, sys.maxsize)
        if flow != "guest":
            account = await self.pool.fetchval(
                "INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id"
            )
            for title in ("One", "Two"):
                await self.pool.execute(BOOK, account, title)
        await self.http.post(f"{STRIPE}/hand/forget")
        if flow in BEFORE:
            await getattr(self, BEFORE[flow])()

    async def look(self) -> dict[str, Any]:
        state = {key: str(value) for key, value in (await self.pool.fetchrow(STATE)).items()}
        ending = sum(each["cancel_at_period_end"] for each in await self.objects("subscription"))
        schedules = [f"{each['status']} {len(each['phases'])}" for each in await self.objects("subscription_schedule")]
        charged = sorted(each["total"] for each in await self.objects("invoice"))
        return state | {"charged": str(charged), "ending": str(ending), "schedules": ", ".join(schedules)}

    async def close(self) -> None:
        await self.payments.close()
        await self.http.close()
        await self.pool.close()

    async def _paid(self, mode: str) -> bool:
        objects = await self.objects("checkout.session")
        return any(each["mode"] == mode and each["payment_status"] == "paid" for each in objects)

    async def objects(self, kind: str) -> list[dict[str, Any]]:
        async with self.http.get(f"{STRIPE}/hand/objects") as reply:
            return [each for each in await reply.json() if each["object"] == kind]


async def opened() -> PaymentWorld:
    return PaymentWorld(await open_pool(DSN, size=4), aiohttp.ClientSession())


async def live(flow: str) -> None:
    world = await opened()
    await getattr(world, flow)()
    await world.close()


def outlives(connection: Connection, sql: str) -> bool:
    """Whether the effect of a statement survives when the process dies right after it."""
    if connection.is_in_transaction():
        return sql.startswith("COMMIT")
    return not sql.lstrip().startswith(("SELECT", "BEGIN"))


def die_before(step: int) -> None:
    """Kill the process before its `step`-th step from now."""
    steps = itertools.count(1)

    def count() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def query(connection: Connection, sql: str, *args: Any, **kwargs: Any) -> Any:
            if outlives(connection, sql):
                count()
            return await method(connection, sql, *args, **kwargs)

        return query

    for name in ("execute", "fetch", "fetchrow", "fetchval"):
        setattr(Connection, name, counted(getattr(Connection, name)))
    ask = Gateway._call

    async def call(gateway: Gateway, name: str, *args: Any, **kwargs: Any) -> Any:
        if not name.endswith(READS):
            count()
        return await ask(gateway, name, *args, **kwargs)

    Gateway._call = call  # type: ignore[method-assign]


def forked(work: Callable[[], None]) -> int:
    """The signal that ended the child process, or 0."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a life ended with an error"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main(flows: Sequence[str]) -> None:
    with asyncio.Runner() as runner:
        world = runner.run(opened())
        gc.freeze()  # so that children do not copy shared objects by traversing them
        for flow in flows:
            for step in itertools.count(1):

                def one_life(flow: str = flow, step: int = step) -> None:
                    die_before(step)
                    asyncio.run(live(flow))

                runner.run(world.prepare(flow))
                died = forked(one_life)
                runner.run(getattr(world, flow)())
                print(json.dumps({"flow": flow, "step": step, **runner.run(world.look())}), flush=True)
                if not died:
                    break
        runner.run(world.close())


if __name__ == "__main__":
    main(sys.argv[3:])
