"""The operator's commands for payments: set up the processor, apply stored events, and compare its data with ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import asyncpg

from bookgen.billing import processor
from bookgen.billing.fulfilment import Effect, Fulfilment
from bookgen.billing.gateway import Refused, Unreadable
from bookgen.billing.processor_catalog import Offer, offers
from bookgen.billing.webhook import UNREADABLE, UnreadableEvent, Webhook
from bookgen.store import payment_events, payments
from bookgen.store.database import DB

WEBHOOK_PATH = "/api/v1/webhooks/stripe/"

Facts = dict[str, Any]


class ObjectKind(NamedTuple):
    """The functions that compare our rows for one kind of processor object with the processor's data.

    Each function takes the object's id. `read`: reads the object from the processor, and returns a function that
    updates our rows to match. `facts`: returns what our rows say about the object, with the column titles of the
    printed comparison as keys. `refresh`: reads the object and updates our rows.
    """

    read: Callable[[str], Awaitable[Effect]]
    facts: Callable[[DB, str], Awaitable[Facts]]
    refresh: Callable[[str], Awaitable[None]]


class Reconciliation:
    def __init__(self, db: asyncpg.Pool, fulfilment: Fulfilment, webhook: Webhook, public_url: str) -> None:
        self._db = db
        self._gateway = fulfilment.gateway
        self._fulfilment = fulfilment
        self._webhook = webhook
        self._webhook_url = f"{public_url}{WEBHOOK_PATH}"

    # --- sync ---------------------------------------------------------------------------------------

    async def sync(self, *, apply: bool) -> AsyncIterator[str]:
        """Yield a line for each price, portal or webhook that is missing or wrong at the processor.

        `apply`: also create or correct it.
        """
        for offer in await offers(self._db):
            difference = _difference(offer, await self._gateway.find_price(offer))
            if difference:
                yield f"{offer.lookup_key}: {difference}"
                if apply:
                    await self._gateway.price(offer)
        if await self._gateway.find_portal() is None:
            yield "billing portal: the configuration of bookgen is missing"
            if apply:
                await self._gateway.portal()
        found = await self._gateway.find_webhook(self._webhook_url)
        if found is None:
            yield f"webhook: no events are sent to {self._webhook_url}"
            if apply:
                secret = await self._gateway.create_webhook(self._webhook_url)
                yield f"webhook: created; set STRIPE_WEBHOOK_SECRET={secret}"
        elif found[1]:
            yield f"webhook: missing events: {', '.join(sorted(found[1]))}"
            if apply:
                await self._gateway.send_all(found[0])

    # --- replay -------------------------------------------------------------------------------------

    async def replay(self, *, everything: bool) -> AsyncIterator[str]:
        """Apply the stored events that were not applied yet, oldest first; with `everything`, all stored events."""
        for found in await payment_events.listed(self._db, waiting_only=not everything):
            try:
                event = processor.event(found)
            except UNREADABLE:
                yield f"{found.get('id')} {found.get('type')}: cannot be read, skipped"
                continue
            try:
                await self._webhook.apply(event, again=everything)
                said = await payment_events.outcome(self._db, event.id)
            except Refused as refusal:  # continue with the other events
                said = f"not applied. {refusal}"
            except UnreadableEvent as unreadable:
                said = f"cannot be read, skipped. {unreadable}"
            yield f"{event.id} {event.type}: {said}"

    # --- reconcile ----------------------------------------------------------------------------------

    async def reconcile(self, *, mend: bool, since: timedelta, now: datetime) -> AsyncIterator[str]:
        """Yield a line for each difference between the processor's data and ours. `mend`: also correct our rows.

        Compares the checkouts from the time `since` before `now`, and the subscriptions of all customers.
        """
        sessions = ObjectKind(self._fulfilment.read_session, payments.session_facts, self._fulfilment.refresh_session)
        for session_id in await payments.sessions_since(self._db, now - since):
            async for line in self._reconcile(session_id, sessions, mend=mend):
                yield line
        customers = ObjectKind(
            self._fulfilment.read_customer, payments.customer_facts, self._fulfilment.refresh_customer
        )
        for customer in await payments.customers(self._db):
            async for line in self._reconcile(customer, customers, mend=mend):
                yield line

    async def _reconcile(self, name: str, kind: ObjectKind, *, mend: bool) -> AsyncIterator[str]:
        """Yield the differences of the object with the id `name`. With `mend`, correct our rows.

        If the object cannot be read or applied, this yields a line about it and raises nothing.
        """
        try:
            changes = await self._compare(name, kind.read, kind.facts)
            for change in changes:
                yield change
            if changes and mend:
                await kind.refresh(name)
        except (Refused, Unreadable) as error:
            yield f"{name}: skipped. {error}"

    async def _compare(
        self, name: str, read: Callable[[str], Awaitable[Effect]], facts: Callable[[DB, str], Awaitable[Facts]]
    ) -> list[str]:
        """The changes that the processor's data would make to our rows. Nothing is changed: a rollback follows."""
        effect = await read(name)
        async with self._db.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                before = await facts(connection, name)
                await effect(connection)
                after = await facts(connection, name)
            finally:
                await transaction.rollback()
        return [
            f"{name}: {fact} is {before.get(fact)}, should be {after.get(fact)}"
            for fact in sorted(before.keys() | after.keys())
            if before.get(fact) != after.get(fact)
        ]


def _difference(offer: Offer, found: tuple[str, int] | None) -> str | None:
    if found is None:
        return f"the price is missing, should be {offer.amount_cents} cents"
    if found[1] != offer.amount_cents:
        return f"the price is {found[1]} cents, should be {offer.amount_cents} cents"
    return None
