"""Checkouts, and the payment processor's customer of each account."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from bookgen.models import Checkout, PaidCredits
from bookgen.store.database import DB

OPEN_CHECKOUT = """
    INSERT INTO checkout (account_id, kind, slug, billing, amount_cents, credits, words_per_book)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    RETURNING id, key
"""


async def open_checkout(
    db: DB,
    account_id: int | None,
    kind: str,
    slug: str,
    billing: str,
    amount_cents: int,
    credits: int | None,
    words_per_book: int | None,
) -> tuple[int, UUID]:
    row = await db.fetchrow(OPEN_CHECKOUT, account_id, kind, slug, billing, amount_cents, credits, words_per_book)
    return row["id"], row["key"]


FIND_CHECKOUT = """
    SELECT id, account_id, kind, slug, billing, amount_cents, credits, words_per_book, session_id, status
      FROM checkout
     WHERE key = $1
"""


async def find_checkout(db: DB, key: UUID) -> Checkout | None:
    row = await db.fetchrow(FIND_CHECKOUT, key)
    return row and Checkout(**row)


NAME_SESSION = "UPDATE checkout SET session_id = $2, updated_at = now() WHERE id = $1"


async def name_session(db: DB, checkout_id: int, session_id: str) -> None:
    await db.execute(NAME_SESSION, checkout_id, session_id)


OPEN_PAGES = """
    SELECT id, session_id
      FROM checkout
     WHERE account_id = $1 AND kind = $2 AND (kind = 'plan' OR slug = $3) AND billing IN ('monthly', 'yearly')
       AND status = 'open'
     ORDER BY id
"""


async def open_pages(db: DB, account_id: int, kind: str, slug: str) -> dict[int, str | None]:
    """The account's open checkout pages for subscriptions: the processor's session ids, by the ids of our checkouts.

    With the kind "plan", these are the pages for any plan; with another kind, such as "addon", only those for `slug`. A
    session id is None until the processor has opened the page.
    """
    return {row["id"]: row["session_id"] for row in await db.fetch(OPEN_PAGES, account_id, kind, slug)}


# An expired session can no longer be paid. For all others the processor may know more than we do.
SESSIONS_SINCE = """
    SELECT session_id
      FROM checkout
     WHERE session_id IS NOT NULL AND status <> 'expired' AND created_at >= $1
     ORDER BY id
"""


async def sessions_since(db: DB, moment: datetime) -> list[str]:
    return [row["session_id"] for row in await db.fetch(SESSIONS_SINCE, moment)]


SETTLE_CHECKOUT = """
    UPDATE checkout
       SET status = $2, account_id = coalesce(account_id, $3), session_id = $4, payment_intent = $5, updated_at = now()
     WHERE id = $1
"""


async def settle_checkout(
    connection: DB, checkout_id: int, status: str, account_id: int | None, session_id: str, payment_intent: str | None
) -> None:
    await connection.execute(SETTLE_CHECKOUT, checkout_id, status, account_id, session_id, payment_intent)


STORE_WAITING_PURCHASE = "UPDATE checkout SET buyer_email = $2, refunded_credits = $3 WHERE id = $1"


async def store_waiting_purchase(connection: DB, checkout_id: int, buyer_email: str, refunded_credits: int) -> None:
    """Store the buyer's address with a guest's paid checkout, which waits until an account has verified that address.

    `refunded_credits`: how many of the credits have been refunded by now.
    """
    await connection.execute(STORE_WAITING_PURCHASE, checkout_id, buyer_email, refunded_credits)


WAITING_FOR = """
    SELECT id, credits, words_per_book, refunded_credits
      FROM checkout
     WHERE folded_address(buyer_email) = folded_address($1) AND account_id IS NULL AND kind = 'credits'
       AND status IN ('paid', 'refunded')
     ORDER BY id
"""


async def waiting_for(connection: DB, email: str) -> list[PaidCredits]:
    """Credits that guests have bought with this address and that no account has received yet."""
    return [PaidCredits(**row) for row in await connection.fetch(WAITING_FOR, email)]


GIVE = "UPDATE checkout SET account_id = $2, updated_at = now() WHERE id = $1"


async def give(connection: DB, checkout_id: int, account_id: int) -> None:
    await connection.execute(GIVE, checkout_id, account_id)


END_CHECKOUT = "UPDATE checkout SET status = $2, updated_at = now() WHERE id = $1"


async def end_checkout(db: DB, checkout_id: int, *, paid: bool) -> None:
    """Mark a checkout that has no page at the payment processor, such as a change of plan, as paid or failed."""
    await db.execute(END_CHECKOUT, checkout_id, "paid" if paid else "failed")


HAS_PAID = """
    SELECT EXISTS (SELECT FROM checkout WHERE account_id = $1 AND status IN ('paid', 'refunded'))
        OR EXISTS (SELECT FROM subscription WHERE account_id = $1 AND processor_id IS NOT NULL)
"""


async def has_paid(db: DB, account_id: int) -> bool:
    return bool(await db.fetchval(HAS_PAID, account_id))


CUSTOMER_OF = "SELECT customer_id FROM payment_customer WHERE account_id = $1"


async def customer_of(db: DB, account_id: int) -> str | None:
    customer: str | None = await db.fetchval(CUSTOMER_OF, account_id)
    return customer


ACCOUNT_OF = "SELECT account_id FROM payment_customer WHERE customer_id = $1"


async def account_of(db: DB, customer_id: str) -> int | None:
    account_id: int | None = await db.fetchval(ACCOUNT_OF, customer_id)
    return account_id


# The first customer stays: an account is one customer even if two requests race.
BIND_CUSTOMER = "INSERT INTO payment_customer (account_id, customer_id) VALUES ($1, $2) ON CONFLICT DO NOTHING"


async def bind_customer(db: DB, account_id: int, customer_id: str) -> None:
    await db.execute(BIND_CUSTOMER, account_id, customer_id)


REPLACE_CUSTOMER = "UPDATE payment_customer SET customer_id = $3 WHERE account_id = $1 AND customer_id = $2"


async def replace_customer(db: DB, account_id: int, old: str, new: str) -> None:
    await db.execute(REPLACE_CUSTOMER, account_id, old, new)


CUSTOMERS = "SELECT customer_id FROM payment_customer ORDER BY account_id"


async def customers(db: DB) -> list[str]:
    return [row["customer_id"] for row in await db.fetch(CUSTOMERS)]


SESSION_FACTS = """
    SELECT c.status, c.account_id AS account, l.credits, l.refund_due AS "credits refunded"
      FROM checkout c
      LEFT JOIN credit_lot l ON l.checkout_id = c.id
     WHERE c.session_id = $1
"""


async def session_facts(db: DB, session_id: str) -> dict[str, Any]:
    """A summary of a purchase for an operator: column titles and values."""
    return dict(await db.fetchrow(SESSION_FACTS, session_id) or {})


CUSTOMER_FACTS = """
    SELECT p.slug AS plan, s.status, s.billing_interval AS interval, s.current_period_end AS "paid until",
           s.cancel_at_period_end AS "ends then",
           (SELECT n.slug || ' ' || s.next_interval FROM plan n WHERE n.id = s.next_plan_id) AS "next plan",
           (SELECT string_agg(a.slug || ' ' || o.status, ', ' ORDER BY a.slug)
              FROM account_addon o JOIN addon a ON a.id = o.addon_id
             WHERE o.account_id = s.account_id AND o.billing_type = 'monthly') AS "add-ons"
      FROM payment_customer c
      JOIN subscription s ON s.account_id = c.account_id
      JOIN plan p ON p.id = s.plan_id
     WHERE c.customer_id = $1
"""


async def customer_facts(db: DB, customer_id: str) -> dict[str, Any]:
    """A summary of a customer's subscriptions for an operator: column titles and values."""
    return dict(await db.fetchrow(CUSTOMER_FACTS, customer_id) or {})
