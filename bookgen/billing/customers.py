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

    async def of(self, account_id: int) -> str:
        """The account's customer, created on first use."""
        customer = await payments.customer_of(self._db, account_id)
        if customer is None:
            made = await self._gateway.create_customer(must_exist(await accounts.find(self._db, account_id)))
            await payments.bind_customer(self._db, account_id, made)
            customer = await payments.customer_of(self._db, account_id)
        return must_exist(customer)  # the account may have been deleted in the meantime

    async def instead_of(self, gone: str, account_id: int) -> str:
        """Create a new customer for the account, whose customer `gone` the processor does not know any more.

        It was deleted there, or belongs to test mode.
        """
        made = await self._gateway.create_customer(
            must_exist(await accounts.find(self._db, account_id)), instead_of=gone
        )
        log.warning(
            "payment_customer_replaced",
            account_id=account_id,
            what="The payment processor no longer has this account's customer, so a new one was created.",
            before=gone,
            now=made,
        )
        await payments.replace_customer(self._db, account_id, gone, made)
        return await self.of(account_id)
