"""The payment processor's objects as small typed classes, parsed from JSON without the processor's library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import takewhile
from typing import Any
from uuid import UUID

from bookgen.billing.processor_catalog import RECURRING, Offer
from bookgen.models import SubscriptionStatus

Object = Mapping[str, Any]

# A subscription that was never paid grants nothing. One whose payments stopped has days of grace.
STATUSES = {
    "active": SubscriptionStatus.ACTIVE,
    "trialing": SubscriptionStatus.TRIALING,
    "past_due": SubscriptionStatus.PAST_DUE,
    "unpaid": SubscriptionStatus.PAST_DUE,
    "canceled": SubscriptionStatus.CANCELED,
    "paused": SubscriptionStatus.INCOMPLETE,
    "incomplete": SubscriptionStatus.INCOMPLETE,
    "incomplete_expired": SubscriptionStatus.INCOMPLETE,
}

WEBHOOK_EVENTS = (
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.async_payment_failed",
    "checkout.session.expired",
    "customer.subscription.created",
    "customer.subscription.updated",
    "customer.subscription.deleted",
    "subscription_schedule.created",
    "subscription_schedule.updated",
    "subscription_schedule.released",
    "subscription_schedule.completed",
    "subscription_schedule.canceled",
    "subscription_schedule.aborted",
    "invoice.paid",
    "invoice.payment_failed",
    "charge.refunded",
    "charge.refund.updated",
    "refund.updated",
    "refund.failed",
    "charge.dispute.created",
    "charge.dispute.closed",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
)

# The key of our mark in a subscription's metadata.
KEEP_AS = "bookgen_keep_as"
UNPAID = ("draft", "open", "uncollectible")
# The money of these refunds came back to us. A pending refund counts as made.
FAILED_REFUNDS = ("failed", "canceled")
# Disputes in which the bank has taken no money, or has given it back. An inquiry has one of the `warning_` statuses.
HARMLESS_DISPUTES = ("won", "warning_needs_response", "warning_under_review", "warning_closed")


@dataclass(frozen=True, slots=True)
class Event:
    """An event from the processor's webhook. `live`: whether it is about real money, not about test mode."""

    id: str
    type: str
    live: bool | None
    created_at: datetime
    object: Object


@dataclass(frozen=True, slots=True)
class CheckoutSession:
    """A hosted checkout page. `key`: the key of the row in our table `checkout`. `amount`, `refunded`: in cents."""

    id: str
    key: UUID | None
    is_subscription: bool
    status: str
    paid: bool
    failed: bool
    amount: int
    currency: str
    customer: str | None
    email: str | None
    payment_intent: str | None
    refunded: int
    disputed: bool


@dataclass(frozen=True, slots=True)
class SubscriptionSchedule:
    """A schedule: an object at the processor that changes a subscription at a later time.

    `phase_start`: when the current phase began, as Unix time. `next_tag`: the tag of the offer to which the
    subscription changes after that phase; None if it does not change. `is_idle`: the schedule plans no change. An idle
    schedule does nothing but prevent the customer from canceling.
    """

    id: str
    created_at: datetime
    phase_start: int
    next_tag: str | None
    is_idle: bool


@dataclass(frozen=True, slots=True)
class ProcessorSubscription:
    """A subscription at the processor. `tag`: kind, slug and interval of what was bought, such as `plan:pro:monthly`.

    `past_due_since`: since when payment is overdue, which may be long before we hear of it; None if nothing is overdue.
    `keep_as`: the tag of an upgrade that a customer started after canceling. Once the upgrade is paid, the cancellation
    must be undone.
    """

    id: str
    item_id: str
    price_id: str
    tag: str
    status: SubscriptionStatus
    created_at: datetime
    started_at: datetime
    period_end: datetime
    past_due_since: datetime | None
    cancel_at_period_end: bool
    keep_as: str | None
    payment_url: str | None
    schedule: SubscriptionSchedule | None

    @property
    def next_plan(self) -> tuple[str, str] | None:
        """Slug and interval of the plan that follows when the paid period ends; None if no change is planned."""
        if self.schedule is None or self.cancel_at_period_end or self.status is SubscriptionStatus.CANCELED:
            return None
        match (self.schedule.next_tag or "").split(":"):
            case ["plan", slug, "monthly" | "yearly" as interval]:
                return slug, interval
        return None

    @property
    def must_undo_cancellation(self) -> bool:
        """Whether the upgrade named by `keep_as` has been paid, so that the cancellation has to be undone."""
        return self.keep_as == self.tag and self.status is not SubscriptionStatus.CANCELED


@dataclass(frozen=True, slots=True)
class Invoice:
    id: str
    number: str | None
    amount: str
    currency: str
    status: str
    created_at: datetime
    period_start: datetime
    period_end: datetime
    hosted_invoice_url: str | None
    invoice_pdf: str | None


def event(found: Object) -> Event:
    return Event(
        id=found["id"],
        type=found["type"],
        live=found.get("livemode"),
        created_at=_moment(found["created"]),
        object=found["data"]["object"],
    )


def checkout_session(found: Object) -> CheckoutSession:
    intent = found.get("payment_intent")
    payment = intent if isinstance(intent, Mapping) else {}
    charge = payment.get("latest_charge")
    charge = charge if isinstance(charge, Mapping) else {}
    return CheckoutSession(
        id=found["id"],
        key=_key((found.get("metadata") or {}).get("bookgen_checkout")),
        is_subscription=found["mode"] == "subscription",
        status=found["status"],
        paid=found["payment_status"] == "paid",
        failed=found["status"] == "complete" and payment.get("status") in ("requires_payment_method", "canceled"),
        amount=found["amount_total"] or 0,
        currency=found["currency"] or "",
        customer=reference(found.get("customer")),
        email=(found.get("customer_details") or {}).get("email"),
        payment_intent=reference(intent),
        refunded=charge.get("amount_refunded", 0),
        disputed=charge.get("disputed", False),
    )


def is_disputed(disputes: Sequence[Object]) -> bool:
    """Whether the bank has taken back the money of a charge that has these disputes.

    An empty list counts as disputed: call this only for a charge that the processor marks as disputed.
    """
    return not disputes or any(each["status"] not in HARMLESS_DISPUTES for each in disputes)


def refunded_cents(refunds: Sequence[Object]) -> int:
    """The sum of these refunds in cents, without failed refunds."""
    return sum(each["amount"] for each in refunds if each["status"] not in FAILED_REFUNDS)


def subscription(found: Object) -> ProcessorSubscription:
    item = found["items"]["data"][0]
    invoice = found.get("latest_invoice")
    status = STATUSES[found["status"]]
    return ProcessorSubscription(
        id=found["id"],
        item_id=item["id"],
        price_id=item["price"]["id"],
        tag=(item["price"].get("metadata") or {}).get("bookgen", ""),
        status=status,
        created_at=_moment(found["created"]),
        started_at=_moment(found["start_date"]),
        period_end=_end(found, item),
        past_due_since=_moment(_period(found, item, "start")) if status is SubscriptionStatus.PAST_DUE else None,
        cancel_at_period_end=found["cancel_at_period_end"],
        keep_as=(found.get("metadata") or {}).get(KEEP_AS),
        payment_url=invoice.get("hosted_invoice_url")
        if found.get("pending_update") and isinstance(invoice, Mapping)
        else None,
        schedule=schedule(found.get("schedule")),
    )


def schedule(found: Any) -> SubscriptionSchedule | None:
    """The schedule; None if there is none, if it has ended, or if the processor sent only its id."""
    if not isinstance(found, Mapping) or found["status"] not in ("active", "not_started"):
        return None
    present = found.get("current_phase") or found["phases"][0]
    later = any(each["start_date"] >= present["end_date"] for each in found["phases"])
    return SubscriptionSchedule(
        id=found["id"],
        created_at=_moment(found["created"]),
        phase_start=present["start_date"],
        next_tag=(found.get("metadata") or {}).get("bookgen") if later else None,
        is_idle=not later and found["end_behavior"] == "release",
    )


def scheduled_change(subscription: ProcessorSubscription, start: int, price: str, offer: Offer) -> dict[str, Any]:
    """The parameters for a schedule that changes the subscription to `offer` at the end of the paid period.

    `price`: the id of the price of `offer`. `start`: the start of the schedule's current phase, as Unix time. The
    schedule ends after the change. Nothing is prorated, because the change coincides with a renewal.
    """
    present = {
        "items": [{"price": subscription.price_id, "quantity": 1}],
        "start_date": start,
        "end_date": int(subscription.period_end.timestamp()),
    }
    after = {
        "items": [{"price": price, "quantity": 1}],
        "duration": {"interval": RECURRING[offer.billing], "interval_count": 1},
        "proration_behavior": "none",
    }
    return {
        "end_behavior": "release",
        "proration_behavior": "none",
        "metadata": {"bookgen": offer.tag},
        "phases": [present, after],
    }


def names_ours(found: Object) -> bool:
    """Whether a subscription is for something that we sell. Works even if other parts of `found` are malformed."""
    items = (found.get("items") or {}).get("data") or []
    return any(((each.get("price") or {}).get("metadata") or {}).get("bookgen") for each in items)


def unpaid_since(renewals: Iterable[Object]) -> datetime | None:
    """When the first invoice of the current series of unpaid ones was created; None if the newest invoice is paid.

    `renewals`: the invoices for renewals, newest first.
    """
    unpaid = list(takewhile(lambda each: each["status"] in UNPAID, renewals))
    return _moment(unpaid[-1]["created"]) if unpaid else None


def invoice(found: Object) -> Invoice:
    """Parse an invoice, with the period that it bills for.

    This is the period of the invoice's last line. The `period_start` and `period_end` of the invoice itself are those
    of the period before.
    """
    lines = (found.get("lines") or {}).get("data") or [{}]
    period = lines[-1].get("period") or {"start": found["period_start"], "end": found["period_end"]}
    return Invoice(
        id=found["id"],
        number=found.get("number"),
        amount=str(Decimal(found["total"]).scaleb(-2)),
        currency=found["currency"],
        status=found.get("status") or "draft",
        created_at=_moment(found["created"]),
        period_start=_moment(period["start"]),
        period_end=_moment(period["end"]),
        hosted_invoice_url=found.get("hosted_invoice_url"),
        invoice_pdf=found.get("invoice_pdf"),
    )


def reference(value: Any) -> str | None:
    """The id of an object that the processor sends either in full or as an id only; None if `value` is None."""
    found: str | None = value["id"] if isinstance(value, Mapping) else value
    return found


def _end(found: Object, item: Object) -> datetime:
    """The end of the paid time. If an unpaid or disputed payment ended the subscription, no paid time is left."""
    reason = (found.get("cancellation_details") or {}).get("reason")
    if found["status"] == "canceled" and reason in ("payment_failed", "payment_disputed"):
        return _moment(min(_period(found, item, "start"), found["ended_at"]))
    return _moment(_period(found, item, "end"))


def _period(found: Object, item: Object, edge: str) -> int:
    """The start or end (`edge`) of the current period. Earlier API versions have it in `found`, not in `item`."""
    name = f"current_period_{edge}"
    seconds: int = item[name] if name in item else found[name]
    return seconds


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _key(text: Any) -> UUID | None:
    try:
        return UUID(text)
    except (ValueError, TypeError, AttributeError):
        return None
