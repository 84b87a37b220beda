"""Calls the payment processor's API. No other file uses the processor's library."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import aiohttp
import structlog

from bookgen.billing import processor
from bookgen.billing.processor import WEBHOOK_EVENTS, CheckoutSession, Invoice, ProcessorSubscription
from bookgen.billing.processor_catalog import CURRENCY, RECURRING, Offer
from bookgen.errors import Conflict, Unavailable
from bookgen.models import Account

log = structlog.get_logger()

SECONDS_PER_CALL = 8
RETRIES = 2
KEYS = {True: ("sk_live_", "rk_live_"), False: ("sk_test_", "rk_test_")}
SERVICES = (
    "configurations",
    "customers",
    "disputes",
    "invoices",
    "prices",
    "products",
    "refunds",
    "sessions",
    "subscription_schedules",
    "subscriptions",
    "webhook_endpoints",
)
UNREACHABLE = "The payment processor can't be reached right now. Try again in a moment."
PORTAL_FEATURES = {
    "invoice_history": {"enabled": True},
    "payment_method_update": {"enabled": True},
    "subscription_cancel": {"enabled": True, "mode": "at_period_end"},
}


class Gateway:
    """Calls the payment processor. Calls that charge a buyer have an idempotency key derived from a database row."""

    def __init__(self, secret_key: str, *, api_base: str | None = None) -> None:
        self._secret_key = secret_key
        self._api_base = api_base
        self._loading = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._client: Any = None

    @property
    def live(self) -> bool | None:
        """Whether the secret key is for live mode, by its prefix; None: unknown. Test mode moves no real money."""
        return next((live for live, names in KEYS.items() if self._secret_key.startswith(names)), None)

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    # --- buying -------------------------------------------------------------------------------------

    async def create_customer(self, account: Account, *, replaces: str = "") -> str:
        params = {"email": account.email, "metadata": {"bookgen_account": str(account.id)}}
        key = f"customer:{account.id}:{account.created_at.isoformat()}:{account.email}:{replaces}"
        created = await self._call("customers.create", params, key=key)
        return str(created["id"])

    async def delete_customer(self, customer: str) -> None:
        """Delete the customer. This ends the customer's subscriptions at once. No error if it is deleted already."""
        with contextlib.suppress(Unknown):
            await self._call("customers.delete", customer)

    async def open_session(
        self, offer: Offer, *, checkout: UUID, customer: str | None, success_url: str, cancel_url: str
    ) -> tuple[str, str]:
        """Open a hosted page where `offer` can be paid. Returns its id and URL.

        Without a `customer`, the page asks the buyer for an e-mail address.
        """
        params: dict[str, Any] = {
            "line_items": [{"price": await self.price(offer), "quantity": 1}],
            "metadata": {"bookgen_checkout": str(checkout)},
            "success_url": success_url,
            "cancel_url": cancel_url,
            # Only one currency and amount, because the paid amount is compared with the offered one.
            "adaptive_pricing": {"enabled": False},
        }
        if offer.billing in RECURRING:
            params |= {"mode": "subscription"}
        else:
            params |= {"mode": "payment", "invoice_creation": {"enabled": True}}
        params |= {"customer": customer} if customer else {"customer_creation": "always"}
        opened = await self._call("checkout.sessions.create", params, key=f"checkout:{checkout}")
        return opened["id"], opened["url"]

    async def expire_session(self, session_id: str) -> bool:
        """Close the checkout page. Returns False if the page cannot be closed, because it is paid or has expired."""
        try:
            await self._call("checkout.sessions.expire", session_id)
        except Refused:
            return False
        return True

    async def change_plan(
        self, subscription: ProcessorSubscription, offer: Offer, *, checkout: UUID
    ) -> ProcessorSubscription:
        """Change the subscription to the offer's price now and bill the difference. Takes effect once it is paid."""
        params = {
            "items": [{"id": subscription.item_id, "price": await self.price(offer)}],
            "proration_behavior": "always_invoice",
            "payment_behavior": "pending_if_incomplete",
            "expand": ["latest_invoice"],
        }
        return processor.subscription(
            await self._call("subscriptions.update", subscription.id, params, key=f"change:{checkout}")
        )

    async def schedule_change(self, subscription: ProcessorSubscription, offer: Offer) -> None:
        """Change the subscription to the offer's price when its paid period ends. Replaces any planned change.

        This takes two calls: the first creates a schedule, and the second sets its phases. If the second call fails,
        the schedule plans no change, and the next attempt uses it.
        """
        price = await self.price(offer)
        schedule = subscription.schedule
        if schedule is None:
            made = await self._call("subscription_schedules.create", {"from_subscription": subscription.id})
            schedule = processor.schedule(made)
        if schedule is None:
            raise Conflict("Another request has just changed this plan. Try again.")
        params = processor.scheduled_change(subscription, schedule.phase_start, price, offer)
        await self._call("subscription_schedules.update", schedule.id, params)

    async def release_schedule(self, schedule_id: str) -> None:
        """End the schedule. The subscription continues, but a cancellation that the schedule planned stays planned."""
        await self._call("subscription_schedules.release", schedule_id, {"preserve_cancel_date": True})

    async def mark_for_undo(self, subscription: ProcessorSubscription, offer: Offer) -> None:
        """Mark the subscription, so that its pending cancellation is undone once the change to `offer` is paid.

        `undo_cancellation` undoes it then. Call this before the change: the call that makes the change can neither set
        the mark nor undo the cancellation, and a separate call after the change might never be made.
        """
        await self._call("subscriptions.update", subscription.id, {"metadata": {processor.KEEP_AS: offer.tag}})

    async def undo_cancellation(self, subscription: ProcessorSubscription) -> None:
        """Undo the subscription's pending cancellation, and remove the mark set by `mark_for_undo`, in one call.

        If the mark stayed, the customer's next cancellation would be undone too.
        """
        params = {"cancel_at_period_end": False, "metadata": {processor.KEEP_AS: ""}}
        await self._call("subscriptions.update", subscription.id, params)

    async def portal_url(self, customer: str, return_url: str) -> str:
        params = {"customer": customer, "return_url": return_url, "configuration": await self.portal()}
        return str((await self._call("billing_portal.sessions.create", params))["url"])

    # --- reading ------------------------------------------------------------------------------------

    async def session(self, session_id: str) -> CheckoutSession | None:
        """The checkout session with its refunds, as it is now; None if the processor does not know the session."""
        try:
            found = await self._call(
                "checkout.sessions.retrieve", session_id, {"expand": ["payment_intent.latest_charge"]}
            )
        except Unknown:
            return None
        return await self._with_reversals(processor.checkout_session(found))

    async def _with_reversals(self, session: CheckoutSession) -> CheckoutSession:
        """The session with the current sum of its refunds, and whether its payment is disputed now.

        Both are computed from the processor's lists of refunds and disputes. The charge itself does not say: it stays
        marked as disputed after a dispute was won, and its refunded amount may include a failed refund.
        """
        about = {"payment_intent": session.payment_intent, "limit": 100}
        if session.disputed:
            disputes = await self._call("disputes.list", about)
            session = replace(session, disputed=processor.is_disputed(disputes["data"]))
        if session.refunded and (refunds := (await self._call("refunds.list", about))["data"]):
            session = replace(session, refunded=processor.refunded_cents(refunds))
        return session

    async def session_of_payment(self, payment_intent: str) -> str | None:
        try:
            found = await self._call("checkout.sessions.list", {"payment_intent": payment_intent, "limit": 1})
        except Unknown:
            return None
        return found["data"][0]["id"] if found["data"] else None

    async def subscriptions(self, customer: str) -> list[ProcessorSubscription]:
        """All subscriptions of the customer, including ended ones."""
        found: list[ProcessorSubscription] = []
        after: dict[str, str] = {}
        while True:
            params = {"customer": customer, "status": "all", "limit": 100, "expand": ["data.schedule"], **after}
            page = await self._call("subscriptions.list", params)
            found += _read_one_by_one(page["data"])
            if not page["has_more"]:
                return [await self._with_arrears(each) for each in found]
            after = {"starting_after": page["data"][-1]["id"]}

    async def _with_arrears(self, subscription: ProcessorSubscription) -> ProcessorSubscription:
        """The subscription with `past_due_since` set to the date of its oldest unpaid invoice, if it is past due.

        The start of the current period would be wrong, because a new period begins each month even if nothing is paid.
        """
        if subscription.past_due_since is None:
            return subscription
        listed = await self._call("invoices.list", {"subscription": subscription.id, "limit": 100})
        renewals = [each for each in listed["data"] if each.get("billing_reason") == "subscription_cycle"]
        since = processor.unpaid_since(renewals) or subscription.past_due_since
        return replace(subscription, past_due_since=min(since, subscription.past_due_since))

    async def invoices(self, customer: str, limit: int) -> list[Invoice]:
        """The customer's newest invoices. Drafts are left out, since they have no page and no number yet."""
        listed = await self._call("invoices.list", {"customer": customer, "limit": 100})
        issued = [each for each in listed["data"] if each.get("status") != "draft"]
        return [processor.invoice(each) for each in issued[:limit]]

    # --- the catalogue ------------------------------------------------------------------------------

    async def find_price(self, offer: Offer) -> tuple[str, int] | None:
        """The id and amount in cents of the active price with the offer's lookup key; None if there is no such price.

        A price in another currency or without our metadata is ignored.
        """
        listed = await self._call("prices.list", {"lookup_keys": [offer.lookup_key], "active": True})
        ours = [
            (each["id"], each["unit_amount"])
            for each in listed["data"]
            if each["currency"] == CURRENCY and (each.get("metadata") or {}).get("bookgen") == offer.tag
        ]
        return ours[0] if ours else None

    async def price(self, offer: Offer) -> str:
        """The id of the offer's price, which is created if it is missing or has another amount.

        The price is looked up each time, because someone may have archived it at the processor.
        """
        found = await self.find_price(offer)
        return found[0] if found and found[1] == offer.amount_cents else await self._make_price(offer)

    async def find_portal(self) -> str | None:
        found = await self._call("billing_portal.configurations.list", {"active": True, "limit": 100})
        return next((each["id"] for each in found["data"] if (each.get("metadata") or {}).get("bookgen")), None)

    async def portal(self) -> str:
        """The id of our billing portal configuration, which is created if it is missing."""
        if found := await self.find_portal():
            return found
        params = {"features": PORTAL_FEATURES, "metadata": {"bookgen": "portal"}}
        return str((await self._call("billing_portal.configurations.create", params))["id"])

    async def find_webhook(self, url: str) -> tuple[str, set[str]] | None:
        """The id of the webhook for `url`, and the required events that it does not send; None without a webhook."""
        listed = await self._call("webhook_endpoints.list", {"limit": 100})
        for each in listed["data"]:
            if each["url"] == url:
                sent = set(each["enabled_events"]) if each["status"] == "enabled" else set()
                return each["id"], set() if "*" in sent else set(WEBHOOK_EVENTS) - sent
        return None

    async def send_all(self, webhook: str) -> None:
        params = {"enabled_events": list(WEBHOOK_EVENTS), "disabled": False}
        await self._call("webhook_endpoints.update", webhook, params)

    async def create_webhook(self, url: str) -> str:
        """Create the webhook. Returns its signing secret, which the processor reveals only once."""
        params = {"url": url, "enabled_events": list(WEBHOOK_EVENTS)}
        return str((await self._call("webhook_endpoints.create", params))["secret"])

    async def _make_price(self, offer: Offer) -> str:
        with contextlib.suppress(Refused):  # it already exists
            await self._call("products.create", {"id": offer.product_id, "name": f"bookgen: {offer.name}"})
        params: dict[str, Any] = {
            "product": offer.product_id,
            "currency": CURRENCY,
            "unit_amount": offer.amount_cents,
            "lookup_key": offer.lookup_key,
            "transfer_lookup_key": True,
            "metadata": {"bookgen": offer.tag},
        }
        if offer.billing in RECURRING:
            params["recurring"] = {"interval": RECURRING[offer.billing]}
        return str((await self._call("prices.create", params))["id"])

    # --- calling ------------------------------------------------------------------------------------

    async def _call(self, name: str, *arguments: Any, key: str | None = None) -> dict[str, Any]:
        """Call the library's method `name`, such as `checkout.sessions.create`. `key`: the idempotency key, if any."""
        if self._client is None:
            await self._load()
        service = self._client.v1
        *path, verb = name.split(".")
        for part in path:
            service = getattr(service, part)
        if key:
            arguments = (*arguments, {"idempotency_key": f"bookgen:{key}"})
        with _errors(name):
            answer = await getattr(service, f"{verb}_async")(*arguments)
        return dict(answer.to_dict())

    async def _load(self) -> None:
        async with self._loading:
            if self._client is None:
                self._session = self._session or aiohttp.ClientSession()
                # Not on the event loop, since importing the library takes a quarter of a second.
                self._client = await asyncio.to_thread(self._build)

    def _build(self) -> Any:
        import stripe

        timeout = aiohttp.ClientTimeout(total=SECONDS_PER_CALL)
        client = stripe.StripeClient(
            self._secret_key,
            base_addresses={"api": self._api_base} if self._api_base else None,
            max_network_retries=RETRIES,
            http_client=stripe.AIOHTTPClient(timeout=timeout, session=self._session),
        )
        # Each service is a separate module that is loaded on first use.
        for group in (client.v1, client.v1.checkout, client.v1.billing_portal):
            for service in SERVICES:
                getattr(group, service, None)
        return client


def _read_one_by_one(listed: Iterable[processor.Object]) -> Iterator[ProcessorSubscription]:
    """Parse the subscriptions. Raises Unreadable for a malformed one that we sold; other malformed ones are skipped."""
    for each in listed:
        try:
            yield processor.subscription(each)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            log.exception(
                "subscription_unreadable",
                subscription_id=each.get("id"),
                status=each.get("status"),
                to_do="If bookgen sold this subscription, report the traceback as a bug. Until the bug is fixed, "
                "bookgen ignores changes to this subscription.",
            )
            if processor.names_ours(each):
                raise Unreadable from error


class Unreadable(Unavailable):
    """The payment processor sent a subscription that this server can't read."""


class Refused(Conflict):
    """The payment processor refused this request. The server's log has the reason."""


class Unknown(Refused):
    """The payment processor does not know the object that this request is about. The server's log has details."""


class UnknownCustomer(Unknown):
    """The payment processor does not know this customer any more."""


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    """Translate the library's errors into ours. An invalid request becomes `Refused`, which the caller may handle."""
    import stripe

    try:
        yield
    except stripe.CardError as error:
        raise Conflict(
            "The payment was declined. Update the payment method (POST /auth/subscriptions/portal/), then try again."
        ) from error
    except stripe.InvalidRequestError as error:
        log.info("payment_processor_refused", call=name, code=error.code, param=error.param)
        kind = Unknown if error.http_status == 404 or error.code == "resource_missing" else Refused
        raise (UnknownCustomer if kind is Unknown and error.param == "customer" else kind) from error
    except stripe.StripeError as error:
        log.warning(
            "payment_processor_failed",
            call=name,
            error=type(error).__name__,
            status=error.http_status,
            to_do="If `error` is AuthenticationError or PermissionError, correct STRIPE_SECRET_KEY. If it is "
            "APIConnectionError, check whether this machine is online.",
        )
        raise Unavailable(UNREACHABLE) from error
