"""Subscription schedules of the fake: creation, phases, release, and phase changes at renewals."""

from __future__ import annotations

from aiohttp import web

from tests.fakes.stripe_business import Business, Object, later
from tests.fakes.stripe_wire import FORM, error

LIVE = ("active", "not_started")


class ScheduledBusiness(Business):
    """The price and cancellation of a scheduled subscription can only be changed by its schedule."""

    def schedule_routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/subscription_schedules", self._create_schedule),
            web.post("/v1/subscription_schedules/{id}", self._update_schedule),
            web.post("/v1/subscription_schedules/{id}/release", self._release_schedule),
        ]

    # --- time and the portal ------------------------------------------------------------------------

    def renew(self, subscription_id: str, *, paid: bool = True) -> None:
        subscription = self.objects[subscription_id]
        item = subscription["items"]["data"][0]
        if schedule := self._schedule_of(subscription):
            upcoming = [each for each in schedule["phases"] if each["start_date"] >= item["current_period_end"]]
            if upcoming:
                item["price"] = self.objects[upcoming[0]["items"][0]["price"]]
                schedule["current_phase"] = {name: upcoming[0][name] for name in ("start_date", "end_date")}
                self._emit("subscription_schedule.updated", schedule)
            else:
                self._end(schedule, "completed")
        super().renew(subscription_id, paid=paid)

    def cancel_later(self, subscription_id: str) -> None:
        if schedule := self._schedule_of(self.objects[subscription_id]):
            self._end(schedule, "released")
        super().cancel_later(subscription_id)

    def cancel(self, subscription_id: str, *, reason: str = "cancellation_requested") -> None:
        if schedule := self._schedule_of(self.objects[subscription_id]):
            self._end(schedule, "canceled")
        super().cancel(subscription_id, reason=reason)

    # --- the API ------------------------------------------------------------------------------------

    def with_schedule(self, subscription: Object) -> Object:
        """The subscription with its schedule expanded."""
        return {**subscription, "schedule": self._schedule_of(subscription)}

    def refuses_change(self, subscription: Object, form: Object) -> web.Response | None:
        schedule = subscription["schedule"]
        if schedule and form.keys() & {"items", "cancel_at_period_end"}:
            return error(f"The subscription is managed by the subscription schedule `{schedule}`.", 400)
        return None

    async def _create_schedule(self, request: web.Request) -> web.Response:
        form = request[FORM]
        if form.keys() != {"from_subscription"}:
            return error("You cannot set other parameters with `from_subscription`.", 400)
        subscription = self.objects[form["from_subscription"]]
        if subscription["status"] == "canceled" or subscription["schedule"]:
            return error("The subscription has ended or is managed by a schedule already.", 400)
        item = subscription["items"]["data"][0]
        phase = {
            "start_date": item["current_period_start"],
            "end_date": item["current_period_end"],
            "items": [{"price": item["price"]["id"], "quantity": 1}],
        }
        schedule = self._new(
            "subscription_schedule",
            "sub_sched",
            customer=subscription["customer"],
            subscription=subscription["id"],
            status="active",
            end_behavior="cancel" if subscription["cancel_at_period_end"] else "release",
            phases=[phase],
            current_phase={name: phase[name] for name in ("start_date", "end_date")},
        )
        subscription["schedule"] = schedule["id"]
        self._emit("subscription_schedule.created", schedule)
        self._emit("customer.subscription.updated", subscription)
        return web.json_response(schedule)

    async def _update_schedule(self, request: web.Request) -> web.Response:
        form, schedule = request[FORM], self.objects[request.match_info["id"]]
        if schedule["status"] not in LIVE:
            return error(
                f"You cannot update a subscription schedule that is in the `{schedule['status']}` status.", 400
            )
        subscription = self.objects[schedule["subscription"]]
        item = subscription["items"]["data"][0]
        now, after = form["phases"]
        if int(now["start_date"]) != schedule["current_phase"]["start_date"]:
            return error("The start date of the current phase can't be changed.", 400)
        if now["items"][0]["price"] != item["price"]["id"]:
            return error("This fake changes no price of the current phase.", 400)
        if {each["quantity"] for phase in (now, after) for each in phase["items"]} != {"1"}:
            return error("This fake sells one of each.", 400)
        start = int(now["end_date"])
        end = later(start, after["duration"]["interval"])
        schedule["phases"] = [
            {**now, "start_date": int(now["start_date"]), "end_date": start},
            {**after, "start_date": start, "end_date": end},
        ]
        schedule["current_phase"]["end_date"] = start
        schedule["metadata"] |= form["metadata"]
        schedule["end_behavior"] = form["end_behavior"]
        if form["end_behavior"] == "release":
            subscription["cancel_at_period_end"] = False
        self._emit("subscription_schedule.updated", schedule)
        self._emit("customer.subscription.updated", subscription)
        return web.json_response(schedule)

    async def _release_schedule(self, request: web.Request) -> web.Response:
        schedule = self.objects[request.match_info["id"]]
        if schedule["status"] not in LIVE:
            return error(f"You cannot release a subscription schedule in the `{schedule['status']}` status.", 400)
        subscription = self.objects[schedule["subscription"]]
        self._end(schedule, "released")
        self._emit("customer.subscription.updated", subscription)
        return web.json_response(schedule)

    # --- the small print ----------------------------------------------------------------------------

    def _schedule_of(self, subscription: Object) -> Object | None:
        return self.objects[subscription["schedule"]] if subscription["schedule"] else None

    def _end(self, schedule: Object, status: str) -> None:
        self.objects[schedule["subscription"]]["schedule"] = None
        schedule.update(status=status, subscription=None, current_phase=None)
        self._emit(f"subscription_schedule.{status}", schedule)
