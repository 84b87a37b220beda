"""Credits, add-ons, and the checkouts in which something is bought."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from bookgen.models.plans import SubscriptionStatus


class CreditKind(StrEnum):
    PURCHASE = "purchase"
    BOOK_SPEND = "book_spend"
    REFUND = "refund"
    BONUS = "bonus"


@dataclass(frozen=True, slots=True)
class CreditLot:
    """Credits from one purchase or grant. `held` of the `remaining` credits are set aside for runs.

    `refund_due`: how many credits were refunded and have to be taken back. `taken_back`: how many of the refunded
    credits have been taken back so far.
    """

    id: int
    remaining: int
    held: int
    words_per_book: int
    refund_due: int
    taken_back: int

    @property
    def available(self) -> int:
        return max(self.remaining - self.held - (self.refund_due - self.taken_back), 0)


@dataclass(frozen=True, slots=True)
class PaidCredits:
    """Credits of a paid checkout, `refunded_credits` of which were refunded. `id`: the checkout's id."""

    id: int
    credits: int
    words_per_book: int
    refunded_credits: int


@dataclass(frozen=True, slots=True)
class CreditPackage:
    id: int
    slug: str
    name: str
    credits: int
    price_cents: int
    words_per_book: int
    is_popular: bool
    is_active: bool
    display_order: int


@dataclass(frozen=True, slots=True)
class Wallet:
    id: int
    balance: int
    total_purchased: int
    total_used: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CreditTransaction:
    """One row of the append-only credit ledger."""

    id: int
    kind: CreditKind
    amount: int
    balance_after: int
    description: str
    book_id: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Addon:
    """An add-on for sale.

    `price_monthly` is None if the add-on is not sold as a subscription, and `price_per_use` if it is not sold as single
    uses.
    """

    id: int
    slug: str
    name: str
    description: str
    price_monthly: Decimal | None
    price_per_use: Decimal | None
    is_active: bool

    @property
    def billing_types(self) -> list[str]:
        prices = {"monthly": self.price_monthly, "per_use": self.price_per_use}
        return [billing_type for billing_type, price in prices.items() if price is not None]


@dataclass(frozen=True, slots=True)
class OwnedAddon:
    """An account's add-on. `bought`: how many single uses were bought. `taken`: how many uses are spent or reserved."""

    id: int
    addon: Addon
    billing_type: str
    status: SubscriptionStatus
    processor_id: str | None
    current_period_end: datetime | None
    past_due_since: datetime | None
    bought: int
    taken: int
    used_this_period: int


@dataclass(frozen=True, slots=True)
class Checkout:
    """One attempt to buy something, at the price shown at that time.

    `account_id` is None for a guest, until the purchase is given to an account.
    """

    id: int
    account_id: int | None
    kind: str
    slug: str
    billing: str
    amount_cents: int
    credits: int | None
    words_per_book: int | None
    session_id: str | None
    status: str
