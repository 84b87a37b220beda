"""Receives the payment processor's webhook events. Each event is verified, stored, and applied once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import orjson
import structlog

from bookgen.billing import processor
from bookgen.billing.fulfilment import Fulfilment
from bookgen.billing.processor import Event
from bookgen.billing.signature import require_signature
from bookgen.errors import BookgenError, InvalidInput
from bookgen.store import payment_events

log = structlog.get_logger()

# Errors from reading a malformed event. OSError: a time out of range.
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, OverflowError, OSError)

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # an escaped NUL in a string, without an escaped backslash before it

RECONCILE = "To apply the change without the event, run: bookgen payments reconcile --mend"


class UnreadableEvent(BookgenError):
    """The event lacks a field that events of its type must have."""


class Webhook:
    def __init__(
        self,
        db: asyncpg.Pool,
        fulfilment: Fulfilment,
        secrets: Sequence[str],
        wake_mail: Callable[[], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._db = db
        self._fulfilment = fulfilment
        self._secrets = secrets
        self._wake_mail = wake_mail
        self._clock = clock

    async def receive(self, payload: bytes, signature: str) -> None:
        """Verify, store and apply an event. Returns after the changes are committed.

        If this raises an error, the processor sends the event again later.
        """
        if not self._secrets:
            raise InvalidInput(
                "This server has no webhook secret, so it cannot check events. Set STRIPE_WEBHOOK_SECRET."
            )
        require_signature(payload, signature, self._secrets, self._clock().timestamp())
        found = _parsed(payload)
        try:
            event = processor.event(found)
        except UNREADABLE:
            await self._set_aside(found)
            return
        if {event.live, self._fulfilment.gateway.live} == {True, False}:
            raise InvalidInput(
                "The webhook event and this server's payment key must both be live or both be in test mode."
            )
        await payment_events.keep(self._db, event.id, event.type, found, event.created_at)
        try:
            await self.apply(event)
        except UnreadableEvent as unreadable:
            log.error(
                "payment_event_unreadable", event_id=event.id, type=event.type, reason=str(unreadable), to_do=RECONCILE
            )
        self._wake_mail()

    async def _set_aside(self, found: Mapping[str, Any]) -> None:
        """Store a signed event that cannot be read, so that the processor does not send it again."""
        if not isinstance(found.get("id"), str):
            raise InvalidInput("The webhook event has no id, type or time.")
        await payment_events.keep(self._db, found["id"], str(found.get("type")), found, self._clock())
        log.error("payment_event_unreadable", event_id=found["id"], type=str(found.get("type")), to_do=RECONCILE)

    async def apply(self, event: Event, *, again: bool = False) -> None:
        """Update our database rows for the event's object. `again`: do so even if the event was applied before."""
        once = None if again else event.id
        match _subject(event):
            case "session", session_id:
                await self._fulfilment.refresh_session(session_id, once)
            case "customer", customer:
                await self._fulfilment.refresh_customer(customer, once)
            case "payment", payment:
                await self._refresh_payment(event, payment, once)
            case _:
                await payment_events.mark_applied(self._db, event.id, "nothing to do")

    async def _refresh_payment(self, event: Event, payment: str, once: str | None) -> None:
        session_id = await self._fulfilment.gateway.session_of_payment(payment) if payment else None
        if session_id:
            await self._fulfilment.refresh_session(session_id, once)
        else:
            await payment_events.mark_applied(self._db, event.id, "the payment is not from a checkout of bookgen")


def _parsed(payload: bytes) -> Mapping[str, Any]:
    if _NUL.search(payload):
        raise InvalidInput("The webhook event contains U+0000, which cannot be stored.")
    try:
        found = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise InvalidInput("The webhook event is not valid JSON.") from None
    if not isinstance(found, dict):
        raise InvalidInput("The webhook event is not a JSON object.")
    return found


def _subject(event: Event) -> tuple[str, str] | None:
    """The kind (session, customer or payment) and the id of the event's object; None if the event is to be ignored."""
    try:
        match event.type.split("."):
            case ["checkout", "session", _]:
                return "session", str(event.object["id"])
            case ["customer", "subscription", _]:
                return "customer", str(event.object["customer"])
            case ["subscription_schedule", _] if customer := processor.reference(event.object["customer"]):
                return "customer", customer
            case ["invoice", ("paid" | "payment_failed")] if customer := processor.reference(event.object["customer"]):
                return "customer", customer
            case ["charge", "refunded"] | ["charge", "refund" | "dispute", _] | ["refund", _]:
                return "payment", processor.reference(event.object.get("payment_intent")) or ""
    except UNREADABLE as error:
        raise UnreadableEvent(f"The event lacks {error}.") from None
    return None
