"""Plans and subscriptions: what they allow, and what an account has used of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from bookgen.models.books import FundingSource

UNLIMITED = -1  # the value for "no limit" in rows and API responses


class Allowance(StrEnum):
    """A quantity that a plan limits per period. The value is the `quota_type` in API responses."""

    BOOKS = "books"
    AI_IMAGES = "ai_images"
    AI_EDITS = "ai_edits"
    PROOFREADING_CHECKS = "proofreading_checks"


class SubscriptionStatus(StrEnum):
    ACTIVE = "active"
    TRIALING = "trialing"
    PAST_DUE = "past_due"
    CANCELED = "canceled"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Features:
    """What a plan allows. UNLIMITED means no limit."""

    books_per_month: int
    ai_images_per_month: int
    ai_edits_per_month: int
    proofreading_checks_per_month: int
    export_formats: tuple[str, ...]
    watermark: bool
    max_word_count_per_book: int
    max_stored_mb: int
    chapter_images: bool

    def limit(self, allowance: Allowance) -> int:
        limit: int = getattr(self, f"{allowance}_per_month")
        return limit


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan. `limits`: the limits as raw JSON, as the API returns them. `features`: the same limits with types."""

    id: int
    slug: str
    name: str
    description: str
    price_monthly: Decimal
    price_yearly: Decimal
    is_active: bool
    sort_order: int
    features: Features
    limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subscription:
    """An account's subscription. `billing/standing.py` decides whether it is in force.

    Allowances renew monthly, counted from `anchor`. `processor_id`: the subscription's id at the payment processor;
    None if the processor does not bill it. `next_plan` is the slug of the smaller plan that begins when the paid period
    ends.
    """

    id: int
    account_id: int
    plan: Plan
    status: SubscriptionStatus
    billing_interval: str | None
    anchor: datetime
    current_period_end: datetime | None
    past_due_since: datetime | None
    cancel_at_period_end: bool
    processor_id: str | None
    next_plan: str | None
    next_interval: str | None


@dataclass(frozen=True, slots=True)
class UsagePeriod:
    period_start: datetime
    period_end: datetime
    books_created: int = 0
    ai_images_generated: int = 0
    ai_edits_used: int = 0
    proofreading_checks_used: int = 0
    words_generated: int = 0

    def used(self, allowance: Allowance) -> int:
        match allowance:
            case Allowance.BOOKS:
                return self.books_created
            case Allowance.AI_IMAGES:
                return self.ai_images_generated
            case Allowance.AI_EDITS:
                return self.ai_edits_used
            case Allowance.PROOFREADING_CHECKS:
                return self.proofreading_checks_used


@dataclass(frozen=True, slots=True)
class Hold:
    """An allowance or credit set aside for a book.

    `run_id`: the run that the hold is for. It is None while the hold is kept for the book's next run, because a run
    ended early after it had written or paid for something. `words_written`: the words that runs of the book have
    written since the hold began.
    """

    id: int
    account_id: int
    book_id: int | None
    run_id: UUID | None
    source: FundingSource
    lot_id: int | None
    words_per_book: int | None
    words_written: int
    period_start: datetime
    period_end: datetime


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The price of rewriting a chapter or passage, as a number of AI edits.

    `unpaid_words`: how many words are rewritten, if neither the plan nor a credit pays for the book; otherwise 0. The
    sum of these words is limited per billing period.
    """

    edits: int
    unpaid_words: int


@dataclass(frozen=True, slots=True)
class CreationOptions:
    can_create: bool
    subscription_available: bool
    subscription_remaining: int
    credits_available: bool
    credits_balance: int
    suggested_source: str
    max_words: int
