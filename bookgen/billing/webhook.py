"""One event from the payment processor: verified, kept, applied once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import orjson
import structlog

from bookgen.billing import processor
from bookgen.billing.fulfilment import Fulfilment
from bookgen.billing.gateway import Gateway
from bookgen.billing.processor import Event
from bookgen.billing.signature import require_signature
from bookgen.errors import InvalidInput
from bookgen.store import payment_events

log = structlog.get_logger()


class Webhook:
    def __init__(
        self,
        db: asyncpg.Pool,
        gateway: Gateway,
        fulfilment: Fulfilment,
        secrets: Sequence[str],
        wake_mail: Callable[[], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._db = db
        self._gateway = gateway
        self._fulfilment = fulfilment
        self._secrets = secrets
        self._wake_mail = wake_mail
        self._clock = clock

    async def receive(self, payload: bytes, signature: str) -> None:
        """Returns once the event's effect is committed; whoever sent it may send it again until then."""
        if not self._secrets:
            raise InvalidInput("This server has no webhook secret, so no event can be believed.")
        require_signature(payload, signature, self._secrets, self._clock().timestamp())
        found = _parsed(payload)
        event = _read(found)
        if {event.live, self._gateway.live} == {True, False}:
            raise InvalidInput("One of this event and this server's key is of the processor's test mode, one is live.")
        await payment_events.keep(self._db, event.id, event.type, found, event.created_at)
        await self.apply(event)
        self._wake_mail()

    async def apply(self, event: Event, *, again: bool = False) -> None:
        """Brings up to date what the event is about. `again`: also when it was applied before."""
        once = None if again else event.id
        match event.type.split("."):
            case ["checkout", "session", _]:
                await self._fulfilment.refresh_session(event.object["id"], once)
            case ["customer", "subscription", _]:
                await self._fulfilment.refresh_customer(str(event.object["customer"]), once)
            case ["invoice", ("paid" | "payment_failed")] if customer := processor.reference(event.object["customer"]):
                await self._fulfilment.refresh_customer(customer, once)
            case ["charge", "refunded"] | ["charge", "dispute", "created"]:
                await self._refresh_payment(event, once)
            case _:
                await payment_events.mark_applied(self._db, event.id, "nothing to do")

    async def _refresh_payment(self, event: Event, once: str | None) -> None:
        payment = processor.reference(event.object.get("payment_intent"))
        session_id = await self._gateway.session_of_payment(payment) if payment else None
        if session_id:
            await self._fulfilment.refresh_session(session_id, once)
        else:
            await payment_events.mark_applied(self._db, event.id, "not bought in a checkout")


def _parsed(payload: bytes) -> Mapping[str, Any]:
    try:
        found = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise InvalidInput("The event is not JSON.") from None
    if not isinstance(found, dict):
        raise InvalidInput("The event is not an object.")
    return found


def _read(found: Mapping[str, Any]) -> Event:
    try:
        return processor.event(found)
    except (KeyError, TypeError):
        raise InvalidInput("The event lacks what every event has.") from None
