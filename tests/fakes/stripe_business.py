"""The state of a fake payment processor and what happens in it: payments, chargebacks, the passing of time, events.

Events collect in `events` as signed deliveries, which the test delivers as it likes.
"""

from __future__ import annotations

import calendar
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from stripe import WebhookSignature

from tests.canaries import CANARY
from tests.fakes.stripe_wire import STRIPE_VERSION

Object = dict[str, Any]


class Business:
    """Its methods act as buyers on hosted pages, as banks, and as the passing of time."""

    def __init__(self, secret: str, clock: Callable[[], float], account: str) -> None:
        self.secret = secret
        self.account = account  # part of every id, so that several processors can share a database
        self.clock = clock
        self.objects: dict[str, Object] = {}
        self.events: list[Object] = []
        self.declines = False
        self._numbers = itertools.count(1)

    # --- what buyers, banks and time do -------------------------------------------------------------

    def pay(self, session_id: str, *, email: str = "guest@example.com", delayed: bool = False) -> None:
        """The buyer pays on the hosted page. A delayed payment method confirms or fails later."""
        session = self.objects[session_id]
        assert session["status"] == "open", "the page is closed"
        session["status"] = "complete"
        customer = session["customer"]
        session["customer_details"] = {"email": self.objects[customer]["email"] if customer else email}
        if customer is None:
            session["customer"] = self._new("customer", "cus", email=email)["id"]
        if session["mode"] == "subscription":
            self._subscribe(session)
        else:
            intent = self._new("payment_intent", "pi", status="processing", latest_charge=None)
            session["payment_intent"] = intent["id"]
        if delayed:
            self._emit("checkout.session.completed", session)
            return
        self._confirm(session)
        self._emit("checkout.session.completed", session)

    def settle_delayed(self, session_id: str, *, succeeds: bool) -> None:
        session = self.objects[session_id]
        if succeeds:
            self._confirm(session)
            self._emit("checkout.session.async_payment_succeeded", session)
        else:
            self.objects[session["payment_intent"]]["status"] = "requires_payment_method"
            self._emit("checkout.session.async_payment_failed", session)

    def refund(self, session_id: str, cents: int | None = None) -> None:
        charge = self.charge_of(session_id)
        amount = charge["amount"] - charge["amount_refunded"] if cents is None else cents
        about = {"amount": amount, "charge": charge["id"], "payment_intent": charge["payment_intent"]}
        self._new("refund", "re", status="succeeded", **about)
        self._set_refunded(charge, charge["amount_refunded"] + amount)
        self._emit("charge.refunded", charge)

    def fail_refund(self, session_id: str, *, lowers: bool = True) -> None:
        """The buyer's bank returns the newest refund. `lowers`: the refunded amount of the charge decreases."""
        charge = self.charge_of(session_id)
        refund = next(each for each in self._all("refund") if each["charge"] == charge["id"])
        refund["status"] = "failed"
        if lowers:
            self._set_refunded(charge, charge["amount_refunded"] - refund["amount"])
        self._emit("refund.failed", refund)
        self._emit("charge.refund.updated", refund)

    def _set_refunded(self, charge: Object, cents: int) -> None:
        charge.update(amount_refunded=cents, refunded=cents >= charge["amount"])

    def dispute(self, session_id: str, *, status: str = "needs_response") -> None:
        charge = self.charge_of(session_id)
        charge["disputed"] = True  # stays true, however the dispute ends
        about = {"charge": charge["id"], "payment_intent": charge["payment_intent"], "status": status}
        self._emit("charge.dispute.created", self._new("dispute", "dp", **about))

    def close_dispute(self, session_id: str, status: str) -> None:
        """The bank decides the dispute: `won` or `lost`. An inquiry without a chargeback ends as `warning_closed`."""
        charge = self.charge_of(session_id)
        dispute = next(each for each in self._all("dispute") if each["charge"] == charge["id"])
        dispute["status"] = status
        self._emit("charge.dispute.closed", dispute)

    def renew(self, subscription_id: str, *, paid: bool = True) -> None:
        subscription = self.objects[subscription_id]
        item = subscription["items"]["data"][0]
        item["current_period_start"] = item["current_period_end"]
        item["current_period_end"] = later(item["current_period_end"], item["price"]["recurring"]["interval"])
        subscription["status"] = "active" if paid else "past_due"
        status = "paid" if paid else "open"
        invoice = self._invoice(subscription, item["price"]["unit_amount"], status, "subscription_cycle")
        self._emit("invoice.paid" if paid else "invoice.payment_failed", invoice)
        self._emit("customer.subscription.updated", subscription)

    def pay_pending_update(self, subscription_id: str) -> None:
        """The buyer pays the invoice of a change whose payment was declined before."""
        subscription = self.objects[subscription_id]
        [pending] = subscription["pending_update"]["subscription_items"]
        subscription["items"]["data"][0]["price"] = pending["price"]
        subscription["pending_update"] = None
        self._emit("customer.subscription.updated", subscription)

    def cancel_later(self, subscription_id: str) -> None:
        """The buyer cancels in the portal, so the subscription is not renewed."""
        subscription = self.objects[subscription_id]
        subscription["cancel_at_period_end"] = True
        self._emit("customer.subscription.updated", subscription)

    def cancel(self, subscription_id: str, *, reason: str = "cancellation_requested") -> None:
        now = int(self.clock())
        subscription = self.objects[subscription_id]
        subscription.update(status="canceled", canceled_at=now, ended_at=now, cancellation_details={"reason": reason})
        self._emit("customer.subscription.deleted", subscription)

    def subscription_of(self, session_id: str) -> str:
        return str(self.objects[session_id]["subscription"])

    def charge_of(self, session_id: str) -> Object:
        intent = self.objects[self.objects[session_id]["payment_intent"]]
        return self.objects[intent["latest_charge"]]

    def forget_business(self) -> None:
        """Delete everything except the catalogue, as a cheap way to a new processor."""
        kept = ("product", "price", "billing_portal.configuration", "webhook_endpoint")
        self.objects = {name: each for name, each in self.objects.items() if each["object"] in kept}
        self.events.clear()

    # --- events -------------------------------------------------------------------------------------

    def delivery(self, event: Object, *, at: float | None = None, secret: str | None = None) -> tuple[bytes, str]:
        """The body and signature header that Stripe would send."""
        payload = json.dumps(event)
        timestamp = int(self.clock() if at is None else at)
        signature = WebhookSignature.generate_signature_header(payload, secret or self.secret, timestamp)
        return payload.encode(), signature

    def _emit(self, type: str, about: Object) -> None:
        # A copy, because later changes of the object must not change the event.
        frozen = json.loads(json.dumps(about))
        event = self._new("event", "evt", type=type, api_version=STRIPE_VERSION, data={"object": frozen}, note=CANARY)
        self.events.append(event)

    # --- making objects -----------------------------------------------------------------------------

    def _new(self, kind: str, prefix: str, **fields: Any) -> Object:
        name = fields.pop("id", None) or f"{prefix}_{self.account}{next(self._numbers):06d}"
        made: Object = {"id": name, "object": kind, "created": int(self.clock()), "livemode": False, "metadata": {}}
        made.update(fields)
        self.objects[name] = made
        return made

    def _all(self, kind: str) -> list[Object]:
        """All objects, newest first, as in every list."""
        return [each for each in reversed(self.objects.values()) if each["object"] == kind]

    def _confirm(self, session: Object) -> None:
        session["payment_status"] = "paid"
        if session["payment_intent"] is None:
            return
        amount, intent = session["amount_total"], self.objects[session["payment_intent"]]
        charge = self._new(
            "charge", "ch", amount=amount, amount_refunded=0, refunded=False, disputed=False,
            payment_intent=intent["id"], customer=session["customer"],
        )  # fmt: skip
        intent.update(status="succeeded", latest_charge=charge["id"])
        self._invoice({"id": None, "customer": session["customer"]}, amount, "paid", "manual")

    def _subscribe(self, session: Object) -> None:
        now = int(self.clock())
        price = self.objects[session["line_items"][0]["price"]]
        item = {
            "id": f"si_{next(self._numbers):06d}",
            "object": "subscription_item",
            "price": price,
            "current_period_start": now,
            "current_period_end": later(now, price["recurring"]["interval"]),
        }
        subscription = self._new(
            "subscription",
            "sub",
            customer=session["customer"],
            status="active",
            start_date=now,
            cancel_at_period_end=False,
            cancellation_details={"reason": None},
            pending_update=None,
            schedule=None,
            latest_invoice=None,
            items={"object": "list", "data": [item], "has_more": False, "url": "/v1/subscription_items"},
        )
        session["subscription"] = subscription["id"]
        self._emit("customer.subscription.created", subscription)
        self._emit("invoice.paid", self._invoice(subscription, price["unit_amount"], "paid", "subscription_create"))

    def _invoice(self, subscription: Object, amount: int, status: str, reason: str) -> Object:
        now = int(self.clock())
        item = subscription["items"]["data"][0] if subscription["id"] else None
        start, end = (item["current_period_start"], item["current_period_end"]) if item else (now, now)
        invoice = self._new(
            "invoice",
            "in",
            customer=subscription["customer"],
            number=f"BOOK-{next(self._numbers):04d}",
            total=amount,
            currency="usd",
            status=status,
            billing_reason=reason,
            period_start=now,
            period_end=now,
            lines={"object": "list", "data": [{"object": "line_item", "period": {"start": start, "end": end}}]},
            parent={"type": "subscription_details", "subscription_details": {"subscription": subscription["id"]}},
        )
        invoice["hosted_invoice_url"] = f"https://invoice.stripe.test/i/{invoice['id']}"
        invoice["invoice_pdf"] = f"{invoice['hosted_invoice_url']}/pdf"
        return invoice


def later(moment: int, interval: str) -> int:
    """One month or year later. The day is limited to the last day of the month."""
    start = datetime.fromtimestamp(moment, UTC)
    months = start.month - 1 + (12 if interval == "year" else 1)
    year, month = start.year + months // 12, months % 12 + 1
    day = min(start.day, calendar.monthrange(year, month)[1])
    return int(start.replace(year=year, month=month, day=day).timestamp())
