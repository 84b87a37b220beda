"""Our plans, add-ons and credit packages as products and prices at the payment processor, found by lookup keys."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from bookgen.billing.plan_features import FREE
from bookgen.models import Addon, CreditPackage, Plan
from bookgen.store import addons, credits, plans
from bookgen.store.database import DB

CURRENCY = "usd"
RECURRING = {"monthly": "month", "yearly": "year"}


@dataclass(frozen=True, slots=True)
class Offer:
    """Something for sale at one price: a plan, an add-on or a package of credits.

    `kind`: plan, addon or credits. `billing`: monthly, yearly, per_use or once.
    """

    kind: str
    slug: str
    billing: str
    name: str
    amount_cents: int
    credits: int | None = None
    words_per_book: int | None = None

    @property
    def product_id(self) -> str:
        return f"bookgen_{self.kind}_{self.slug}"

    @property
    def lookup_key(self) -> str:
        return f"{self.product_id}_{self.billing}"

    @property
    def tag(self) -> str:
        """Identifies what the offer sells, in the metadata of its prices at the processor: kind, slug and billing.

        If the amount changes, the offer gets a new price with the same tag. Existing subscriptions keep the old price.
        """
        return f"{self.kind}:{self.slug}:{self.billing}"


def plan_offer(plan: Plan, interval: str) -> Offer | None:
    """The offer of a plan; None if the plan has no price for this interval."""
    price = plan.price_yearly if interval == "yearly" else plan.price_monthly
    return Offer("plan", plan.slug, interval, plan.name, cents(price)) if price else None


def addon_offer(addon: Addon, billing_type: str) -> Offer | None:
    price = addon.price_monthly if billing_type == "monthly" else addon.price_per_use
    return None if price is None else Offer("addon", addon.slug, billing_type, addon.name, cents(price))


def package_offer(package: CreditPackage) -> Offer:
    return Offer(
        "credits",
        package.slug,
        "once",
        package.name,
        package.price_cents,
        credits=package.credits,
        words_per_book=package.words_per_book,
    )


async def offers(db: DB) -> list[Offer]:
    """Everything that is for sale now."""
    sold = [plan for plan in await plans.list_active(db) if plan.slug != FREE]
    found = [
        *(plan_offer(plan, interval) for plan in sold for interval in RECURRING),
        *(addon_offer(addon, billing) for addon in await addons.list_active(db) for billing in ("monthly", "per_use")),
        *(package_offer(package) for package in await credits.list_packages(db)),
    ]
    return [offer for offer in found if offer]


def cents(price: Decimal) -> int:
    return int(price * 100)
