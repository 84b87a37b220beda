"""Purchases at the payment processor: hosted checkout pages, plan changes, the billing portal and invoices."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import asyncpg

from bookgen.billing.customers import Customers
from bookgen.billing.fulfilment import Fulfilment
from bookgen.billing.gateway import Gateway, UnknownCustomer
from bookgen.billing.nightly import NightlyReconcile
from bookgen.billing.plan_changes import PlanChanges, record_attempt
from bookgen.billing.plan_features import FREE
from bookgen.billing.processor import Invoice
from bookgen.billing.processor_catalog import RECURRING, Offer, addon_offer, package_offer, plan_offer
from bookgen.billing.reconciliation import Reconciliation
from bookgen.billing.return_urls import checked_url, origin_of
from bookgen.billing.standing import RENEWAL_GRACE, is_entitled, is_live
from bookgen.billing.webhook import Webhook
from bookgen.errors import Conflict, InvalidInput, NotFound, PaymentsNotConfigured
from bookgen.models import OwnedAddon, Subscription, SubscriptionStatus
from bookgen.store import addons, credits, payments, plans, subscriptions

NEWEST_INVOICES = 20


@dataclass(frozen=True, slots=True)
class ReturnUrls:
    success_url: str | None = None
    cancel_url: str | None = None


@dataclass(frozen=True, slots=True)
class HostedCheckout:
    session_id: str
    url: str


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The plan was changed without a checkout page.

    `begins_at`: when a scheduled change takes effect; None if the change is already in effect.
    """

    redirect_url: str
    begins_at: datetime | None = None


class Payments:
    """Buys and manages plans, credits and add-ons.

    `gateway` calls the payment processor; without it, all purchases are refused. If `sells` is False, nothing can be
    bought, and the gateway only serves earlier purchases.
    """

    def __init__(
        self,
        db: asyncpg.Pool,
        gateway: Gateway | None,
        *,
        public_url: str,
        webhook_secrets: Collection[str] = (),
        allowed_origins: Collection[str] = (),
        sells: bool = True,
        renewal_grace: timedelta = RENEWAL_GRACE,
        wake_mail: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._db = db
        self._renewal_grace = renewal_grace
        self._public_url = public_url
        self._origins = {origin_of(url) for url in (public_url, *allowed_origins)}
        self._sells, self._clock = sells, clock
        self._fulfilment = Fulfilment(db, gateway, renewal_grace, clock) if gateway else None
        self._webhook = (
            Webhook(db, self._fulfilment, tuple(webhook_secrets), wake_mail, clock) if self._fulfilment else None
        )

    async def close(self) -> None:
        if self._fulfilment:
            await self._fulfilment.gateway.close()

    # --- buying -------------------------------------------------------------------------------------

    async def buy_plan(
        self, account_id: int, slug: str, interval: str | None, urls: ReturnUrls
    ) -> HostedCheckout | Upgraded:
        plan = await plans.find(self._db, slug)
        if plan is None or not plan.is_active:
            raise InvalidInput(plan=["No such plan. Choose one from GET /auth/subscriptions/plans/."])
        if plan.slug == FREE:
            raise InvalidInput(
                plan=[
                    "The free plan is not for sale. To return to it, cancel your subscription (POST "
                    "/auth/subscriptions/portal/)."
                ]
            )
        present = await subscriptions.find(self._db, account_id)
        offer = plan_offer(plan, interval or _interval_of(present))
        if offer is None:
            raise InvalidInput(
                interval=["This plan is not sold with this interval. Choose the other interval, or another plan."]
            )
        if present is None or not is_live(present):
            if present and _is_on(present, slug, interval):
                raise Conflict(_already("You are on this plan", present))
            return await self._open_session(account_id, offer, urls)
        success_url, _ = self._return_urls(urls)
        changes = PlanChanges(self._db, self._selling())
        if not _is_on(present, slug, interval):
            return Upgraded(success_url, await changes.change(account_id, present.processor_id, offer))
        if not await changes.cancel(account_id, present.processor_id):
            raise Conflict(_already("You are on this plan", present))
        return Upgraded(success_url)

    async def buy_addon(self, account_id: int, slug: str, billing_type: str, urls: ReturnUrls) -> HostedCheckout:
        addon = await addons.find(self._db, slug)
        if addon is None or not addon.is_active:
            raise InvalidInput(addon=["No such add-on. Choose one from GET /auth/addons/available/."])
        offer = addon_offer(addon, billing_type)
        if offer is None:
            raise InvalidInput(
                billing_type=[
                    "This add-on is not sold with this billing type. Choose one of its `billing_types` (GET "
                    "/auth/addons/available/)."
                ]
            )
        if owned := await self._monthly(account_id, slug):
            raise Conflict(_already("You own this add-on", owned))
        return await self._open_session(account_id, offer, urls)

    async def buy_credits(self, account_id: int | None, slug: str, urls: ReturnUrls) -> HostedCheckout:
        """Buy credits for an account. `account_id` None: for a guest, whose e-mail address the page asks for."""
        package = await credits.find_package(self._db, slug)
        if package is None:
            raise NotFound("No such credit package. Choose one from GET /auth/credits/packages/.")
        return await self._open_session(account_id, package_offer(package), urls)

    async def _open_session(self, account_id: int | None, offer: Offer, urls: ReturnUrls) -> HostedCheckout:
        success_url, cancel_url = self._return_urls(urls)
        fulfilment = self._selling()

        async def open_for(customer: str | None) -> HostedCheckout:
            checkout_id, key = await record_attempt(self._db, account_id, offer)
            session_id, url = await fulfilment.gateway.open_session(
                offer, checkout=key, customer=customer, success_url=success_url, cancel_url=cancel_url
            )
            await payments.name_session(self._db, checkout_id, session_id)
            if account_id is not None and offer.billing in RECURRING:
                await self._require_only_page(account_id, offer, checkout_id, session_id)
            return HostedCheckout(session_id, url)

        if account_id is None:
            return await open_for(None)
        customers = Customers(self._db, fulfilment.gateway)
        customer = await customers.id_for(account_id)
        try:
            return await open_for(customer)
        except UnknownCustomer:
            await fulfilment.refresh_customer(customer)
            return await open_for(await customers.replace(customer, account_id))

    async def _require_only_page(self, account_id: int, offer: Offer, checkout_id: int, session_id: str) -> None:
        """Make sure that the account has only one open checkout page for this offer, so that nobody pays for it twice.

        Normally closes the account's other pages for the offer. But if another page was opened later or has been paid,
        this closes the new page (`session_id`) and raises Conflict. Each page is recorded before this looks for others,
        so of two pages that are opened at the same time, at least one finds the other.
        """
        gateway = self._configured().gateway
        others = await payments.open_pages(self._db, account_id, offer.kind, offer.slug)
        if max(others, default=checkout_id) > checkout_id:
            await gateway.expire_session(session_id)
            raise Conflict(
                "Another checkout page for the same purchase was opened at the same time. Use that page, or repeat "
                "this call."
            )
        for other in filter(None, (others[each] for each in others if each != checkout_id)):
            if not await gateway.expire_session(other) and await self._was_paid(other):
                await gateway.expire_session(session_id)
                raise Conflict(
                    "You have just bought this on another checkout page. See your purchase with GET "
                    "/auth/subscriptions/current/."
                )

    async def _was_paid(self, session_id: str) -> bool:
        """Whether a page that could not be closed was paid. Asks the processor, since its event may arrive late."""
        await self._configured().refresh_session(session_id)
        return bool((await payments.session_facts(self._db, session_id))["status"] == "paid")

    async def _monthly(self, account_id: int, slug: str) -> OwnedAddon | None:
        """The account's monthly add-on `slug`, if it is paid for or the processor still bills it; otherwise None."""
        now = self._clock()
        for each in await addons.owned(self._db, account_id, now, now, now):
            paid = is_entitled(each, now, self._renewal_grace)
            if each.addon.slug == slug and each.billing_type == "monthly" and (paid or is_live(each)):
                return each
        return None

    # --- what was bought ----------------------------------------------------------------------------

    async def portal_url(self, account_id: int) -> str:
        customer = await payments.customer_of(self._db, account_id)
        if customer is None or not await payments.has_paid(self._db, account_id):
            raise InvalidInput(
                "You have not bought anything yet, so there is nothing to manage. Buy a plan first (POST "
                "/auth/subscriptions/checkout/)."
            )
        fulfilment = self._configured()
        await fulfilment.refresh_customer(
            customer
        )  # the portal cannot cancel a subscription that an idle schedule manages
        return await fulfilment.gateway.portal_url(customer, f"{self._public_url}/checkout/done/")

    async def invoices(self, account_id: int) -> list[Invoice]:
        customer = await payments.customer_of(self._db, account_id)
        if customer is None:
            return []
        gateway = self._configured().gateway
        try:
            return await gateway.invoices(customer, NEWEST_INVOICES)
        except UnknownCustomer:
            return []

    async def delete_customer(self, account_id: int) -> None:
        """Delete the account's customer at the processor. This ends the customer's subscriptions at once.

        Raises Unavailable if the processor is unreachable.
        """
        customer = await payments.customer_of(self._db, account_id)
        if customer is not None and self._fulfilment is not None:
            await self._fulfilment.gateway.delete_customer(customer)

    async def receive(self, payload: bytes, signature: str) -> None:
        """Receive a webhook event of the processor."""
        if self._webhook is None:
            raise InvalidInput(
                "This server has no payment keys, so it cannot verify webhook events. Its operator must configure "
                "payments."
            )
        await self._webhook.receive(payload, signature)

    def reconciliation(self) -> Reconciliation:
        """The object behind the operator's commands that compare and repair payments."""
        if self._webhook is None:
            raise PaymentsNotConfigured
        return Reconciliation(self._db, self._configured(), self._webhook, self._public_url)

    async def reconcile_nightly(self) -> None:
        """Compare and repair payments every night until cancelled. Does nothing without a gateway."""
        if self._webhook is not None:
            await NightlyReconcile(self._db, self.reconciliation(), self._clock).run()

    def _return_urls(self, urls: ReturnUrls) -> tuple[str, str]:
        page = f"{self._public_url}/checkout"
        return (
            checked_url("success_url", urls.success_url, f"{page}/success/", self._origins),
            checked_url("cancel_url", urls.cancel_url, f"{page}/canceled/", self._origins),
        )

    def _selling(self) -> Fulfilment:
        if not self._sells:
            raise PaymentsNotConfigured("Billing is off on this server, so nothing can be bought.")
        return self._configured()

    def _configured(self) -> Fulfilment:
        if self._fulfilment is None:
            raise PaymentsNotConfigured
        return self._fulfilment


def _interval_of(present: Subscription | None) -> str:
    """The default interval of a purchase: the interval of the current paid subscription, otherwise monthly."""
    return (present and is_live(present) and present.billing_interval) or "monthly"


def _is_on(present: Subscription, slug: str, interval: str | None) -> bool:
    """Whether the account has the plan `slug` already: granted by the operator, or paid.

    A paid plan must also have this `interval`; None: any interval.
    """
    given = present.processor_id is None
    same = interval in (None, present.billing_interval)
    return present.plan.slug == slug and (given or (is_live(present) and same))


def _already(sentence: str, owned: Subscription | OwnedAddon) -> str:
    """The error message for buying something that the account has already: `sentence`, and what to do about it."""
    portal = "in the billing portal (POST /auth/subscriptions/portal/)"
    if owned.status is SubscriptionStatus.PAST_DUE:
        return f"{sentence}, and its last payment failed. Make the payment {portal}."
    if isinstance(owned, Subscription) and owned.cancel_at_period_end and owned.current_period_end:
        return f"{sentence} until {owned.current_period_end:%Y-%m-%d}. To keep it, renew it {portal}."
    return f"{sentence} already. Manage it {portal}."
