"""Updates our database rows to match the payment processor, idempotently and whatever the order of events.

The content of an event is never trusted. The object that the event names is read again from the processor, and our rows
are computed from the object. So late, repeated and reordered events lead to the same result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from weakref import WeakValueDictionary

import asyncpg
import structlog

from bookgen.billing import credits as wallet
from bookgen.billing import guests
from bookgen.billing.gateway import Gateway, Refused, UnknownCustomer
from bookgen.billing.plan_features import FREE
from bookgen.billing.processor import CheckoutSession, ProcessorSubscription
from bookgen.billing.processor_catalog import CURRENCY
from bookgen.billing.standing import entitled
from bookgen.errors import Unavailable
from bookgen.models import Checkout, PaidCredits, SubscriptionStatus
from bookgen.store import addons, payment_events, payments, subscriptions
from bookgen.store.database import DB

log = structlog.get_logger()

ATTEMPTS = 20
# Between the two calls that schedule a change, its schedule is empty. Schedules younger than this are not released.
PLANNING = timedelta(minutes=15)
PAID = frozenset({"paid", "refunded"})


class Outcome(NamedTuple):
    """The result of applying an event. `description`: what happened, which is stored with the event.

    `customer`: the id of a customer whose subscriptions must be read and applied too; None if there is none.
    """

    description: str
    customer: str | None = None


# A function that changes our rows to match what was read from the processor, in the transaction that it is given.
Effect = Callable[[DB], Awaitable[Outcome]]


class Fulfilment:
    def __init__(
        self, db: asyncpg.Pool, gateway: Gateway, renewal_grace: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self._db = db
        self.gateway = gateway
        self._renewal_grace = renewal_grace
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def refresh_session(self, session_id: str, event_id: str | None = None) -> None:
        await self._refresh(session_id, self.read_session, event_id)

    async def refresh_customer(self, customer: str, event_id: str | None = None) -> None:
        await self._refresh(customer, partial(self.read_customer, correct=True), event_id)

    async def read_session(self, session_id: str) -> Effect:
        session = await self.gateway.session(session_id)
        if session is None:
            return _nothing
        return lambda connection: self._apply_session(connection, session)

    async def read_customer(self, customer: str, *, correct: bool = False) -> Effect:
        """Read the customer's subscriptions from the processor. Returns a function that updates our rows to match.

        `correct`: also correct the subscriptions at the processor. If a customer who had canceled has paid for an
        upgrade, the cancellation is undone. Schedules that plan no change are ended, because they prevent the customer
        from canceling.
        """
        try:
            found = await self.gateway.subscriptions(customer)
            subscribed = [
                await self._with_cancellation_undone(each, correct=correct) if each.must_undo_cancellation else each
                for each in found
            ]
        except UnknownCustomer:
            return lambda connection: self._end_subscriptions(connection, customer)
        for each in subscribed if correct else ():
            await self._release_idle(each)
        return lambda connection: self._apply_subscriptions(connection, customer, subscribed)

    async def _with_cancellation_undone(
        self, subscription: ProcessorSubscription, *, correct: bool
    ) -> ProcessorSubscription:
        """The subscription with its cancellation undone; with `correct`, the processor undoes it too.

        Returns the subscription unchanged if the processor refuses.
        """
        try:
            if correct:
                await self.gateway.undo_cancellation(subscription)
        except Refused:
            log.exception(
                "subscription_not_kept",
                subscription_id=subscription.id,
                what="The customer has paid for an upgrade, but the subscription is still set to end with the current "
                "period.",
                to_do="If this repeats, withdraw the cancellation in the Stripe dashboard.",
            )
            return subscription
        return replace(subscription, cancel_at_period_end=False)

    async def _release_idle(self, subscription: ProcessorSubscription) -> None:
        """End the subscription's schedule if it plans no change, unless it is so new that a change may still be added.

        The customer cannot cancel a subscription in the billing portal while it has a schedule.
        """
        schedule = subscription.schedule
        if schedule is None or not schedule.is_idle or schedule.created_at > self._clock() - PLANNING:
            return
        if not subscription.tag.startswith("plan:"):
            return
        try:
            await self.gateway.release_schedule(schedule.id)
        except Refused:
            log.exception(
                "schedule_not_released",
                subscription_id=subscription.id,
                what="An empty schedule of this subscription could not be released. Until the schedule is released, "
                "the customer cannot cancel the subscription in the billing portal.",
                to_do="If this repeats, release the schedule in the Stripe dashboard.",
            )

    async def _refresh(self, object_id: str, read: Callable[[str], Awaitable[Effect]], event_id: str | None) -> None:
        async with self._locks.setdefault(object_id, asyncio.Lock()):
            outcome = await self._read_and_apply(object_id, read, event_id)
        if outcome and outcome.customer:
            await self.refresh_customer(outcome.customer, event_id)

    async def _read_and_apply(
        self, object_id: str, read: Callable[[str], Awaitable[Effect]], event_id: str | None
    ) -> Outcome | None:
        """Read the object from the processor, then update our rows in a transaction. Returns the outcome.

        If another event about the object was applied in the meantime, the object is read again. Returns None if this
        event was applied before.
        """
        for _ in range(ATTEMPTS):
            if event_id and await payment_events.is_applied(self._db, event_id):
                return None
            seen = await payment_events.version(self._db, object_id)
            effect = await read(object_id)
            async with self._db.acquire() as connection, connection.transaction():
                if not await payment_events.advance(connection, object_id, seen):
                    continue
                outcome = await effect(connection)
                if event_id and not outcome.customer:
                    await payment_events.mark_applied(connection, event_id, outcome.description)
                return outcome
        raise Unavailable("Too many events about the same payment arrived at once. Send this event again.")

    # --- one payment: credits, uses of an add-on ----------------------------------------------------

    async def _apply_session(self, connection: DB, session: CheckoutSession) -> Outcome:
        checkout = await payments.find_checkout(connection, session.key) if session.key else None
        if checkout is None or checkout.session_id not in (None, session.id):
            return Outcome("not a checkout of bookgen")
        if not session.paid:
            return await _settle(connection, checkout, session, _unpaid(session), checkout.account_id)
        if not session.is_subscription and (session.amount, session.currency) != (checkout.amount_cents, CURRENCY):
            log.error(
                "payment_differs_from_offer",
                checkout=checkout.id,
                paid=session.amount,
                offered=checkout.amount_cents,
                to_do="The customer received nothing for this payment. Look at the payment in the Stripe dashboard, "
                "and refund it.",
            )
            return Outcome(
                f"paid {session.amount} cents ({session.currency}), offered {checkout.amount_cents} cents ({CURRENCY})"
            )
        account_id = await self._buyer(connection, checkout, session)
        status = "refunded" if _credits_refunded(1, session) else "paid"
        if account_id is None:
            return await self._keep_waiting(connection, checkout, session, status)
        await subscriptions.lock(connection, account_id)
        outcome = await _settle(connection, checkout, session, status, account_id)
        if checkout.kind == "credits":
            await self._credit(connection, checkout, session, account_id)
        elif checkout.billing == "per_use":
            await addons.own_by_use(connection, account_id, checkout.slug)
        elif session.customer:
            return Outcome(outcome.description, session.customer)
        return outcome

    async def _buyer(self, connection: DB, checkout: Checkout, session: CheckoutSession) -> int | None:
        """The id of the account that gets the purchase: the account that opened the page, or the guest's account.

        Returns None if the guest's e-mail address is not known, or if no account has verified it yet. If the account is
        new, it is linked to the guest's customer at the processor. An existing account keeps its own customer.
        """
        if checkout.account_id is not None or not session.email:
            return checkout.account_id
        account_id, new = await guests.account_for(connection, session.email)
        if new and account_id and session.customer:
            await payments.bind_customer(connection, account_id, session.customer)
        if checkout.status not in PAID:
            await guests.tell(connection, session.email, account_id, _bought(checkout, session), new=new)
        return account_id

    async def _keep_waiting(self, connection: DB, checkout: Checkout, session: CheckoutSession, status: str) -> Outcome:
        if not session.email or checkout.credits is None:
            return Outcome("paid without an account or an e-mail address")
        refunded = _credits_refunded(checkout.credits, session)
        await payments.store_waiting_purchase(connection, checkout.id, session.email, refunded)
        outcome = await _settle(connection, checkout, session, status, None)
        return Outcome(f"{outcome.description}; waits until the buyer's address is verified")

    async def _credit(self, connection: DB, checkout: Checkout, session: CheckoutSession, account_id: int) -> None:
        """Grant the paid credits, and take back refunded credits that have not been spent."""
        if checkout.credits is None or checkout.words_per_book is None:
            raise ValueError(
                f"checkout {checkout.id} sells no credits"
            )  # the table has a constraint against such a row
        refunded = _credits_refunded(checkout.credits, session)
        paid = PaidCredits(checkout.id, checkout.credits, checkout.words_per_book, refunded)
        await wallet.grant_purchase(connection, account_id, paid)
        await wallet.settle(connection, account_id, self._clock())

    # --- what a customer is subscribed to -----------------------------------------------------------

    async def _apply_subscriptions(
        self, connection: DB, customer: str, subscribed: Sequence[ProcessorSubscription]
    ) -> Outcome:
        account_id = await payments.account_of(connection, customer)
        if account_id is None:
            return Outcome("not a customer of bookgen")
        await subscriptions.lock(connection, account_id)
        descriptions = []
        for (kind, slug), candidates in sorted(_by_what(subscribed).items()):
            best = max(candidates, key=self._weight)
            if sum(each.status is not SubscriptionStatus.CANCELED and self._entitles(each) for each in candidates) > 1:
                log.warning(
                    "subscribed_twice",
                    account_id=account_id,
                    kind=kind,
                    slug=slug,
                    to_do="The customer pays for two plans, or twice for the same add-on. Cancel one of the "
                    "subscriptions in the Stripe dashboard.",
                )
            if kind == "plan":
                descriptions.append(await self._apply_plan(connection, account_id, best))
            else:
                descriptions.append(await self._apply_addon(connection, account_id, slug, best))
        return Outcome("; ".join(descriptions) or "no subscription of bookgen")

    async def _end_subscriptions(self, connection: DB, customer: str) -> Outcome:
        account_id = await payments.account_of(connection, customer)
        if account_id is not None:
            await subscriptions.lock(connection, account_id)
            await subscriptions.cancel(connection, account_id)
            await addons.cancel(connection, account_id)
        return Outcome("the payment processor has no such customer")

    async def _apply_plan(self, connection: DB, account_id: int, best: ProcessorSubscription) -> str:
        _, slug, interval = best.tag.split(":")
        present = await subscriptions.find(connection, account_id)
        by_hand = present is not None and present.processor_id is None and present.plan.slug != FREE
        if by_hand and not self._entitles(best):
            return "kept the plan that the operator granted"
        known = await subscriptions.subscribe(
            connection,
            account_id,
            slug,
            status=best.status,
            interval=interval,
            anchor=best.started_at,
            period_end=best.period_end,
            past_due_since=best.past_due_since,
            cancel_at_period_end=best.cancel_at_period_end,
            processor_id=best.id,
            then=best.next_plan,
        )
        if not known:
            log.error(
                "plan_of_subscription_is_gone",
                account_id=account_id,
                plan=slug,
                what="The customer pays for a plan that this server does not have.",
                to_do="Add the plan to the table `plan`, or cancel the subscription in the Stripe dashboard.",
            )
            return f"there is no plan {slug}"
        return f"plan {slug}: {best.status}"

    async def _apply_addon(self, connection: DB, account_id: int, slug: str, best: ProcessorSubscription) -> str:
        await addons.own_by_month(
            connection, account_id, slug, best.status, best.id, best.period_end, best.past_due_since
        )
        return f"add-on {slug}: {best.status}"

    def _weight(self, each: ProcessorSubscription) -> tuple[bool, bool, datetime, str]:
        """Sort key to choose among subscriptions: those in force first, then those not canceled, then the newest."""
        return self._entitles(each), each.status is not SubscriptionStatus.CANCELED, each.created_at, each.id

    def _entitles(self, each: ProcessorSubscription) -> bool:
        return entitled(each.status, each.period_end, each.past_due_since, self._clock(), self._renewal_grace)


def _by_what(subscribed: Sequence[ProcessorSubscription]) -> dict[tuple[str, str], list[ProcessorSubscription]]:
    """Group the subscriptions that we sold by what they are for. An account should have only one in each group.

    The key of a group is (kind, slug). All plans are in one group, with an empty slug. Each add-on has its own group.
    """
    found: dict[tuple[str, str], list[ProcessorSubscription]] = {}
    for each in subscribed:
        match each.tag.split(":"):
            case ["plan", _, "monthly" | "yearly"]:
                found.setdefault(("plan", ""), []).append(each)
            case ["addon", slug, "monthly"]:
                found.setdefault(("addon", slug), []).append(each)
    return found


async def _settle(
    connection: DB, checkout: Checkout, session: CheckoutSession, status: str, account_id: int | None
) -> Outcome:
    await payments.settle_checkout(connection, checkout.id, status, account_id, session.id, session.payment_intent)
    return Outcome(f"{checkout.kind} {checkout.slug}: {status}")


def _bought(checkout: Checkout, session: CheckoutSession) -> str:
    """What a guest bought, in words for an e-mail."""
    what = "1 credit" if checkout.credits == 1 else f"{checkout.credits} credits"
    return f"{what} for {session.amount / 100:.2f} {CURRENCY.upper()}"


def _unpaid(session: CheckoutSession) -> str:
    if session.failed:
        return "failed"
    return "expired" if session.status == "expired" else "open"


def _credits_refunded(bought: int, session: CheckoutSession) -> int:
    """How many credits were refunded, rounded to whole credits. In a dispute, all credits count as refunded."""
    if session.disputed:
        return bought
    if not session.refunded:  # also of a session that cost nothing
        return 0
    return (2 * bought * session.refunded + session.amount) // (2 * session.amount)


async def _nothing(connection: DB) -> Outcome:
    return Outcome("the payment processor has no such checkout session")
