"""A fake Stripe for the real library: the calls that bookgen uses, with state, and a way to act as a buyer."""

from __future__ import annotations

import time
from collections.abc import Callable

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.canaries import CANARY
from tests.fakes.stripe_business import Object
from tests.fakes.stripe_schedules import ScheduledBusiness
from tests.fakes.stripe_wire import FORM, Wire, error, missing, page

SECRET_KEY = f"sk_test_{CANARY}"
WEBHOOK_SECRET = f"whsec_{CANARY}"
NEXT_WEBHOOK_SECRET = f"whsec_next_{CANARY}"


class FakeStripe(ScheduledBusiness):
    """Serves the API at `url`."""

    def __init__(self, secret: str = WEBHOOK_SECRET, clock: Callable[[], float] = time.time, account: str = "") -> None:
        super().__init__(secret, clock, account)
        self.wire = Wire()
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
                web.delete("/v1/customers/{id}", self._delete_customer),
                web.post("/v1/products", self._create_product),
                web.get("/v1/prices", self._list_prices),
                web.post("/v1/prices", self._create_price),
                web.get("/v1/checkout/sessions", self._list_sessions),
                web.post("/v1/checkout/sessions", self._create_session),
                web.get("/v1/checkout/sessions/{id}", self._retrieve_session),
                web.post("/v1/checkout/sessions/{id}/expire", self._expire_session),
                web.get("/v1/subscriptions", self._list_subscriptions),
                web.post("/v1/subscriptions/{id}", self._update_subscription),
                *self.schedule_routes(),
                web.get("/v1/invoices", self._list_invoices),
                web.get("/v1/disputes", self._list_disputes),
                web.get("/v1/refunds", self._list_refunds),
                web.get("/v1/billing_portal/configurations", self._list_portals),
                web.post("/v1/billing_portal/configurations", self._create_portal),
                web.post("/v1/billing_portal/sessions", self._open_portal),
                web.get("/v1/webhook_endpoints", self._list_endpoints),
                web.post("/v1/webhook_endpoints", self._create_endpoint),
                web.post("/v1/webhook_endpoints/{id}", self._update_endpoint),
                # For tests in another process: acting as a buyer, and the deliveries.
                web.post("/hand/pay/{id}", self._hand_pay),
                web.post("/hand/cancel-later/{id}", self._hand_cancel_later),
                web.post("/hand/forget", self._hand_forget),
                web.get("/hand/objects", self._hand_objects),
                web.get("/hand/deliveries", self._hand_deliveries),
            ]
        )
        return app

    def forget_business(self) -> None:
        super().forget_business()
        self.wire.forget()

    # --- resources ----------------------------------------------------------------------------------

    async def _create_customer(self, request: web.Request) -> web.Response:
        return web.json_response(self._new("customer", "cus", **request[FORM]))

    async def _delete_customer(self, request: web.Request) -> web.Response:
        customer = request.match_info["id"]
        if customer not in self.objects:
            return missing("customer", customer)
        for each in self._all("subscription"):
            if each["customer"] == customer and each["status"] != "canceled":
                self.cancel(each["id"])
        del self.objects[customer]
        return web.json_response({"id": customer, "object": "customer", "deleted": True})

    async def _create_product(self, request: web.Request) -> web.Response:
        form = request[FORM]
        if form["id"] in self.objects:
            return error("Product already exists.", 400, code="resource_already_exists")
        return web.json_response(self._new("product", "prod", **form))

    async def _list_prices(self, request: web.Request) -> web.Response:
        wanted = request[FORM].get("lookup_keys", [])
        found = [price for price in self._all("price") if price["lookup_key"] in wanted]
        return page("/v1/prices", _as_active(found, request[FORM]), request[FORM])

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
        if form["line_items"][0]["quantity"] != "1":
            return error("This fake sells one of each.", 400)
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
        if "data.schedule" in form.get("expand", []):
            found = [self.with_schedule(each) for each in found]
        return page("/v1/subscriptions", found, form)

    async def _update_subscription(self, request: web.Request) -> web.Response:
        form = request[FORM]
        subscription = self.objects[request.match_info["id"]]
        if subscription["status"] == "canceled":
            return error("A canceled subscription can only update its cancellation_details and metadata.", 400)
        if refused := self.refuses_change(subscription, form):
            return refused
        if "items" not in form:
            for name, value in form.get("metadata", {}).items():
                subscription["metadata"].pop(name, None)
                if value:
                    subscription["metadata"][name] = value
            if "cancel_at_period_end" in form:
                subscription["cancel_at_period_end"] = form["cancel_at_period_end"] == "true"
            self._emit("customer.subscription.updated", subscription)
            return web.json_response(subscription)
        if form["payment_behavior"] == "pending_if_incomplete" and form.keys() & {"metadata", "cancel_at_period_end"}:
            return error("These can't be changed by an update that may be pending.", 400)
        item = subscription["items"]["data"][0]
        price = self.objects[form["items"][0]["price"]]
        assert form["items"][0]["id"] == item["id"]
        difference = price["unit_amount"] - item["price"]["unit_amount"]
        status = "open" if self.declines else "paid"
        invoice = self._invoice(subscription, difference, status, "subscription_update")
        if self.declines:
            pending = {"id": item["id"], "price": price}
            expires_at = int(self.clock()) + 82_800
            subscription["pending_update"] = {"expires_at": expires_at, "subscription_items": [pending]}
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

    async def _list_disputes(self, request: web.Request) -> web.Response:
        return self._list_of_payment("dispute", request)

    async def _list_refunds(self, request: web.Request) -> web.Response:
        return self._list_of_payment("refund", request)

    def _list_of_payment(self, kind: str, request: web.Request) -> web.Response:
        form = request[FORM]
        found = [each for each in self._all(kind) if each["payment_intent"] == form["payment_intent"]]
        return page(request.path, found, form)

    async def _list_portals(self, request: web.Request) -> web.Response:
        found = _as_active(self._all("billing_portal.configuration"), request[FORM])
        return page("/v1/billing_portal/configurations", found, request[FORM])

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

    async def _hand_cancel_later(self, request: web.Request) -> web.Response:
        self.cancel_later(request.match_info["id"])
        return web.json_response({})

    async def _hand_forget(self, request: web.Request) -> web.Response:
        self.forget_business()
        return web.json_response({})

    async def _hand_objects(self, request: web.Request) -> web.Response:
        return web.json_response(list(self.objects.values()))

    async def _hand_deliveries(self, request: web.Request) -> web.Response:
        signed = (self.delivery(event) for event in self.events)
        return web.json_response([[body.decode(), signature] for body, signature in signed])


def _as_active(found: list[Object], form: Object) -> list[Object]:
    """The objects that are active, or are not, as the list call says; all if it does not say."""
    return [each for each in found if form.get("active") in (None, str(each["active"]).lower())]


def _subscription_of(invoice: Object) -> str | None:
    name: str | None = invoice["parent"]["subscription_details"]["subscription"]
    return name
