"""The customer that represents an account at the payment processor."""

from __future__ import annotations

import asyncpg
import structlog

from bookgen.billing.gateway import Gateway
from bookgen.errors import must_exist
from bookgen.store import accounts, payments

log = structlog.get_logger()


class Customers:
    def __init__(self, db: asyncpg.Pool, gateway: Gateway) -> None:
        self._db = db
        self._gateway = gateway

    async def id_for(self, account_id: int) -> str:
        """The id of the account's customer at the processor. The customer is created on first use."""
        customer = await payments.customer_of(self._db, account_id)
        if customer is None:
            made = await self._gateway.create_customer(must_exist(await accounts.find(self._db, account_id)))
            await payments.bind_customer(self._db, account_id, made)
            customer = await payments.customer_of(self._db, account_id)
        return must_exist(customer)  # the account may have been deleted in the meantime

    async def replace(self, gone: str, account_id: int) -> str:
        """Create a new customer instead of `gone`, which the processor does not know any more. Returns the new id.

        The processor may not know a customer because it was deleted there, or because it belongs to test mode.
        """
        made = await self._gateway.create_customer(must_exist(await accounts.find(self._db, account_id)), replaces=gone)
        log.warning(
            "payment_customer_replaced",
            account_id=account_id,
            what="The payment processor no longer has a customer record for this account, so a new record was created.",
            before=gone,
            now=made,
        )
        await payments.replace_customer(self._db, account_id, gone, made)
        return await self.id_for(account_id)
