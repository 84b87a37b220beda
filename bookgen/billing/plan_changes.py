"""Changes a paid plan: an upgrade takes effect at once, a downgrade when the paid period ends.

If a downgrade took effect at once, the customer would get back part of the larger plan's price, although books that it
pays for are still being written. A change that takes effect later is planned by a schedule, an object at the processor.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

import asyncpg
import structlog

from bookgen.billing.customers import Customers
from bookgen.billing.fulfilment import Fulfilment
from bookgen.billing.gateway import UnknownCustomer
from bookgen.billing.processor import ProcessorSubscription
from bookgen.billing.processor_catalog import Offer, plan_offer
from bookgen.errors import Conflict, Unavailable
from bookgen.models import Plan, SubscriptionStatus
from bookgen.store import payments, plans

UNPAID = (
    "The payment was not completed, so your plan is unchanged. Complete the payment at `payment_url`, or try again."
)
CANCELED = " The plan change that was scheduled for the end of the period has been canceled."

log = structlog.get_logger()


class PlanChanges:
    def __init__(self, db: asyncpg.Pool, fulfilment: Fulfilment) -> None:
        self._db = db
        self._fulfilment = fulfilment
        self._gateway = fulfilment.gateway

    async def change(self, account_id: int, processor_id: str | None, offer: Offer) -> datetime | None:
        """Change to the offer. Returns when the change takes effect; None if it has taken effect.

        `processor_id`: the id of the account's subscription at the processor.
        """
        customer = await Customers(self._db, self._gateway).id_for(account_id)
        present = await self._running(customer, processor_id)
        begins = None
        if present.tag == offer.tag:  # an earlier process changed it, but died before storing that
            await self._release(present)
        elif await self._is_smaller(present, offer):
            if present.next_plan != (offer.slug, offer.billing):
                await self._gateway.schedule_change(present, offer)
            begins = present.period_end
        else:
            await self._change_now(account_id, customer, present, offer)
        await self._fulfilment.refresh_customer(customer)
        return begins

    async def cancel(self, account_id: int, processor_id: str | None) -> bool:
        """Cancel the planned change, so that the current plan is renewed. Returns False if no change was planned."""
        customer = await Customers(self._db, self._gateway).id_for(account_id)
        present = await self._running(customer, processor_id)
        if present.next_plan is None:
            return False
        await self._release(present)
        await self._fulfilment.refresh_customer(customer)
        return True

    async def _change_now(self, account_id: int, customer: str, present: ProcessorSubscription, offer: Offer) -> None:
        """Upgrade the subscription at once. Raises Conflict if the payment was not completed.

        A planned change is canceled first, because the processor does not upgrade a subscription that has a schedule.
        If the upgrade is refused, or the processor cannot be reached, the canceled change is planned again.
        """
        await self._release(present)
        try:
            if present.cancel_at_period_end or present.keep_as:
                await self._gateway.mark_for_undo(present, offer)
            changed = await self._pay(account_id, present, offer)
        except (Conflict, Unavailable):
            await self._plan_again(customer, present)
            raise
        if changed.tag != offer.tag:
            await self._fulfilment.refresh_customer(customer)
            raise Conflict(UNPAID + (CANCELED if present.next_plan else ""), payment_url=changed.payment_url)

    async def _pay(self, account_id: int, present: ProcessorSubscription, offer: Offer) -> ProcessorSubscription:
        checkout_id, key = await record_attempt(self._db, account_id, offer)
        try:
            changed = await self._gateway.change_plan(present, offer, checkout=key)
        except Conflict:  # the change is no longer possible
            await payments.end_checkout(self._db, checkout_id, paid=False)
            raise
        await payments.end_checkout(self._db, checkout_id, paid=changed.tag == offer.tag)
        return changed

    async def _release(self, present: ProcessorSubscription) -> None:
        if present.schedule:
            await self._gateway.release_schedule(present.schedule.id)

    async def _plan_again(self, customer: str, before: ProcessorSubscription) -> None:
        """Plan the change that `before` had planned again, if any, after a failed upgrade has canceled it."""
        if before.next_plan is None:
            return
        slug, interval = before.next_plan
        try:
            plan = await plans.find(self._db, slug)
            offer = plan and plan_offer(plan, interval)
            present = await self._running(customer, before.id)
            if offer and present.tag == before.tag:
                await self._gateway.schedule_change(present, offer)
                return
        except (Conflict, Unavailable):
            log.exception(
                "planned_change_lost",
                subscription_id=before.id,
                plan=slug,
                what="The customer's scheduled change to this plan was canceled and could not be scheduled again.",
                to_do="Schedule the change in the Stripe dashboard, or ask the customer to choose the plan again.",
            )
        await self._fulfilment.refresh_customer(customer)

    async def _running(self, customer: str, processor_id: str | None) -> ProcessorSubscription:
        """The account's subscription as the processor has it now. Raises Conflict if it has ended there."""
        try:
            subscribed = await self._gateway.subscriptions(customer)
        except UnknownCustomer:
            subscribed = []
        for each in subscribed:
            if each.id == processor_id and each.status is not SubscriptionStatus.CANCELED:
                return each
        await self._fulfilment.refresh_customer(customer)
        raise Conflict(
            "Your subscription has ended at the payment processor. Send the request again to buy a new plan."
        )

    async def _is_smaller(self, present: ProcessorSubscription, offer: Offer) -> bool:
        """Whether the offer is a smaller plan, or the same plan billed monthly instead of yearly."""
        match present.tag.split(":"):
            case ["plan", slug, interval]:
                pass
            case _:  # a price set directly at the processor
                return False
        old, new = await plans.find(self._db, slug), await plans.find(self._db, offer.slug)
        return old is not None and new is not None and _size(new, offer.billing) < _size(old, interval)


async def record_attempt(db: asyncpg.Pool, account_id: int | None, offer: Offer) -> tuple[int, UUID]:
    """Record an attempt to buy, before the processor is called. Returns the checkout's id and its idempotency key."""
    return await payments.open_checkout(
        db,
        account_id,
        offer.kind,
        offer.slug,
        offer.billing,
        offer.amount_cents,
        offer.credits,
        offer.words_per_book,
    )


def _size(plan: Plan, interval: str) -> tuple[Decimal, bool]:
    return plan.price_monthly or plan.price_yearly / 12, interval == "yearly"
