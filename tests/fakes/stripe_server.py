"""A Stripe of our own for the real library: what bookgen calls of it, with state, and a buyer's hand to play with."""

from __future__ import annotations

import calendar
import itertools
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from stripe import WebhookSignature

from tests.canaries import CANARY
from tests.fakes.stripe_wire import FORM, STRIPE_VERSION, Wire, error, missing, page

Object = dict[str, Any]

SECRET_KEY = f"sk_test_{CANARY}"
WEBHOOK_SECRET = f"whsec_{CANARY}"
NEXT_WEBHOOK_SECRET = f"whsec_next_{CANARY}"


class FakeStripe:
    """Serves the API at `url`. What happens on hosted pages and with time is done by its methods.

    Events pile up in `events` as signed deliveries, for the test to hand over as it likes.
    """

    def __init__(self, secret: str = WEBHOOK_SECRET, clock: Callable[[], float] = time.time, account: str = "") -> None:
        self.secret = secret
        self.account = account  # in every id, so that several may share a database
        self.clock = clock
        self.wire = Wire()
        self.objects: dict[str, Object] = {}
        self.events: list[Object] = []
        self.declines = False
        self._numbers = itertools.count(1)
        self._server: TestServer | None = None

    # --- the server ---------------------------------------------------------------------------------

    async def start(self) -> str:
        self._server = TestServer(self.application())
        await self._server.start_server()
        return self.url

    async def stop(self) -> None:
        if self._server:
            await self._server.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return str(self._server.make_url("")).rstrip("/")

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self.wire.middleware])
        app.add_routes(
            [
                web.post("/v1/customers", self._create_customer),
                web.post("/v1/products", self._create_product),
                web.get("/v1/prices", self._list_prices),
                web.post("/v1/prices", self._create_price),
                web.get("/v1/checkout/sessions", self._list_sessions),
                web.post("/v1/checkout/sessions", self._create_session),
                web.get("/v1/checkout/sessions/{id}", self._retrieve_session),
                web.post("/v1/checkout/sessions/{id}/expire", self._expire_session),
                web.get("/v1/subscriptions", self._list_subscriptions),
                web.post("/v1/subscriptions/{id}", self._update_subscription),
                web.get("/v1/invoices", self._list_invoices),
                web.get("/v1/billing_portal/configurations", self._list_portals),
                web.post("/v1/billing_portal/configurations", self._create_portal),
                web.post("/v1/billing_portal/sessions", self._open_portal),
                web.get("/v1/webhook_endpoints", self._list_endpoints),
                web.post("/v1/webhook_endpoints", self._create_endpoint),
                web.post("/v1/webhook_endpoints/{id}", self._update_endpoint),
                # For tests in another process: the buyer's hand and the deliveries.
                web.post("/hand/pay/{id}", self._hand_pay),
                web.post("/hand/forget", self._hand_forget),
                web.get("/hand/objects", self._hand_objects),
                web.get("/hand/deliveries", self._hand_deliveries),
            ]
        )
        return app

    # --- what buyers, banks and time do -------------------------------------------------------------

    def pay(self, session_id: str, *, email: str = "guest@example.com", delayed: bool = False) -> None:
        """The buyer pays on the hosted page; a delayed method confirms or fails later."""
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
        charge["amount_refunded"] = charge["amount"] if cents is None else charge["amount_refunded"] + cents
        charge["refunded"] = charge["amount_refunded"] >= charge["amount"]
        self._emit("charge.refunded", charge)

    def dispute(self, session_id: str) -> None:
        charge = self.charge_of(session_id)
        charge["disputed"] = True
        intent = charge["payment_intent"]
        self._emit("charge.dispute.created", self._new("dispute", "dp", charge=charge["id"], payment_intent=intent))

    def renew(self, subscription_id: str, *, paid: bool = True) -> None:
        subscription = self.objects[subscription_id]
        item = subscription["items"]["data"][0]
        item["current_period_start"] = item["current_period_end"]
        item["current_period_end"] = _later(item["current_period_end"], item["price"]["recurring"]["interval"])
        subscription["status"] = "active" if paid else "past_due"
        status = "paid" if paid else "open"
        invoice = self._invoice(subscription, item["price"]["unit_amount"], status, "subscription_cycle")
        self._emit("invoice.paid" if paid else "invoice.payment_failed", invoice)
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
        """Everything but the catalogue is gone: a processor on its first day, cheaply."""
        kept = ("product", "price", "billing_portal.configuration", "webhook_endpoint")
        self.objects = {name: each for name, each in self.objects.items() if each["object"] in kept}
        self.events.clear()
        self.wire.forget()

    # --- events -------------------------------------------------------------------------------------

    def delivery(self, event: Object, *, at: float | None = None, secret: str | None = None) -> tuple[bytes, str]:
        """Body and signature header, as Stripe sends them."""
        payload = json.dumps(event)
        timestamp = int(self.clock() if at is None else at)
        signature = WebhookSignature.generate_signature_header(payload, secret or self.secret, timestamp)
        return payload.encode(), signature

    def _emit(self, type: str, about: Object) -> None:
        # A copy: the event shows the object as it was then, however it changes later.
        frozen = json.loads(json.dumps(about))
        event = self._new("event", "evt", type=type, api_version=STRIPE_VERSION, data={"object": frozen}, note=CANARY)
        self.events.append(event)

    # --- resources ----------------------------------------------------------------------------------

    async def _create_customer(self, request: web.Request) -> web.Response:
        return web.json_response(self._new("customer", "cus", **request[FORM]))

    async def _create_product(self, request: web.Request) -> web.Response:
        form = request[FORM]
        if form["id"] in self.objects:
            return error("Product already exists.", 400, code="resource_already_exists")
        return web.json_response(self._new("product", "prod", **form))

    async def _list_prices(self, request: web.Request) -> web.Response:
        wanted = request[FORM].get("lookup_keys", [])
        found = [price for price in self._all("price") if price["lookup_key"] in wanted and price["active"]]
        return page("/v1/prices", found, request[FORM])

    async def _create_price(self, request: web.Request) -> web.Response:
        form = request[FORM]
        if form["product"] not in self.objects:
            return missing("product", form["product"])
        for holder in self._all("price"):
            if holder["lookup_key"] == form["lookup_key"]:
                if form.get("transfer_lookup_key") != "true":
                    return error("A price already uses that lookup key.", 400)
                holder["lookup_key"] = None
        price = self._new("price", "price", **{**form, "unit_amount": int(form["unit_amount"]), "active": True})
        return web.json_response(price)

    async def _create_session(self, request: web.Request) -> web.Response:
        form = request[FORM]
        if form.get("customer", "") not in ("", *self.objects):
            return missing("customer", form["customer"], param="customer")
        price = self.objects[form["line_items"][0]["price"]]
        if (form["mode"] == "subscription") != ("recurring" in price):
            return error("The price does not fit the mode.", 400)
        session = self._new(
            "checkout.session",
            "cs_test",
            **{
                "customer": None,
                "customer_details": None,
                "payment_intent": None,
                "subscription": None,
                **form,
                "status": "open",
                "payment_status": "unpaid",
                "amount_total": price["unit_amount"],
                "currency": price["currency"],
            },
        )
        session["url"] = f"https://checkout.stripe.test/c/pay/{session['id']}"
        return web.json_response(session)

    async def _retrieve_session(self, request: web.Request) -> web.Response:
        session = self.objects.get(request.match_info["id"])
        if session is None:
            return missing("checkout.session", request.match_info["id"])
        shown = dict(session)
        if "payment_intent.latest_charge" in request[FORM].get("expand", []) and session["payment_intent"]:
            intent = dict(self.objects[session["payment_intent"]])
            intent["latest_charge"] = self.objects.get(intent["latest_charge"])
            shown["payment_intent"] = intent
        return web.json_response(shown)

    async def _list_sessions(self, request: web.Request) -> web.Response:
        intent = request[FORM]["payment_intent"]
        if intent not in self.objects:
            return missing("payment_intent", intent, param="payment_intent")
        found = [session for session in self._all("checkout.session") if session["payment_intent"] == intent]
        return page("/v1/checkout/sessions", found, request[FORM])

    async def _expire_session(self, request: web.Request) -> web.Response:
        session = self.objects[request.match_info["id"]]
        if session["status"] != "open":
            return error("Only Checkout Sessions with a status in ['open'] can be expired.", 400)
        session["status"] = "expired"
        self._emit("checkout.session.expired", session)
        return web.json_response(session)

    async def _list_subscriptions(self, request: web.Request) -> web.Response:
        form = request[FORM]
        if form["customer"] not in self.objects:
            return missing("customer", form["customer"], param="customer")
        found = [each for each in self._all("subscription") if each["customer"] == form["customer"]]
        if form.get("status") != "all":
            found = [each for each in found if each["status"] != "canceled"]
        return page("/v1/subscriptions", found, form)

    async def _update_subscription(self, request: web.Request) -> web.Response:
        form = request[FORM]
        subscription = self.objects[request.match_info["id"]]
        if "cancel_at_period_end" in form:
            subscription["cancel_at_period_end"] = form["cancel_at_period_end"] == "true"
            self._emit("customer.subscription.updated", subscription)
            return web.json_response(subscription)
        item = subscription["items"]["data"][0]
        price = self.objects[form["items"][0]["price"]]
        assert form["items"][0]["id"] == item["id"]
        difference = price["unit_amount"] - item["price"]["unit_amount"]
        status = "open" if self.declines else "paid"
        invoice = self._invoice(subscription, difference, status, "subscription_update")
        if self.declines:
            subscription["pending_update"] = {"expires_at": int(self.clock()) + 82_800}
        else:
            item["price"] = price
            self._emit("invoice.paid", invoice)
        self._emit("customer.subscription.updated", subscription)
        return web.json_response({**subscription, "latest_invoice": invoice})

    async def _list_invoices(self, request: web.Request) -> web.Response:
        form, found = request[FORM], self._all("invoice")
        if form.get("customer", "") not in ("", *self.objects):
            return missing("customer", form["customer"], param="customer")
        if "customer" in form:
            found = [invoice for invoice in found if invoice["customer"] == form["customer"]]
        if "subscription" in form:
            found = [invoice for invoice in found if _subscription_of(invoice) == form["subscription"]]
        return page("/v1/invoices", found, form)

    async def _list_portals(self, request: web.Request) -> web.Response:
        return page("/v1/billing_portal/configurations", self._all("billing_portal.configuration"), request[FORM])

    async def _create_portal(self, request: web.Request) -> web.Response:
        return web.json_response(self._new("billing_portal.configuration", "bpc", active=True, **request[FORM]))

    async def _open_portal(self, request: web.Request) -> web.Response:
        session = self._new("billing_portal.session", "bps", **request[FORM])
        session["url"] = f"https://billing.stripe.test/p/session/{session['id']}"
        return web.json_response(session)

    async def _list_endpoints(self, request: web.Request) -> web.Response:
        return page("/v1/webhook_endpoints", self._all("webhook_endpoint"), request[FORM])

    async def _create_endpoint(self, request: web.Request) -> web.Response:
        endpoint = self._new("webhook_endpoint", "we", status="enabled", **request[FORM])
        return web.json_response({**endpoint, "secret": f"whsec_{endpoint['id']}"})

    async def _update_endpoint(self, request: web.Request) -> web.Response:
        form = request[FORM]
        endpoint = self.objects[request.match_info["id"]]
        endpoint["enabled_events"] = form["enabled_events"]
        endpoint["status"] = "disabled" if form["disabled"] == "true" else "enabled"
        return web.json_response(endpoint)

    async def _hand_pay(self, request: web.Request) -> web.Response:
        self.pay(request.match_info["id"], **await request.json())
        return web.json_response({})

    async def _hand_forget(self, request: web.Request) -> web.Response:
        self.forget_business()
        return web.json_response({})

    async def _hand_objects(self, request: web.Request) -> web.Response:
        return web.json_response(list(self.objects.values()))

    async def _hand_deliveries(self, request: web.Request) -> web.Response:
        signed = (self.delivery(event) for event in self.events)
        return web.json_response([[body.decode(), signature] for body, signature in signed])

    # --- making objects -----------------------------------------------------------------------------

    def _new(self, kind: str, prefix: str, **fields: Any) -> Object:
        name = fields.pop("id", None) or f"{prefix}_{self.account}{next(self._numbers):06d}"
        made: Object = {"id": name, "object": kind, "created": int(self.clock()), "livemode": False, "metadata": {}}
        made.update(fields)
        self.objects[name] = made
        return made

    def _all(self, kind: str) -> list[Object]:
        """Newest first, as every list is."""
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
            "current_period_end": _later(now, price["recurring"]["interval"]),
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


def _subscription_of(invoice: Object) -> str | None:
    name: str | None = invoice["parent"]["subscription_details"]["subscription"]
    return name


def _later(moment: int, interval: str) -> int:
    """A month or a year on; the day is the month's last where it is shorter."""
    start = datetime.fromtimestamp(moment, UTC)
    months = start.month - 1 + (12 if interval == "year" else 1)
    year, month = start.year + months // 12, months % 12 + 1
    day = min(start.day, calendar.monthrange(year, month)[1])
    return int(start.replace(year=year, month=month, day=day).timestamp())
