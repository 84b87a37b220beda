"""What the service sells and allows, as sentences in the language of the question.

The facts come from the tables that the service itself uses, so they are always current.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bookgen.errors import catalogue
from bookgen.models import UNLIMITED, Addon, CreditPackage, Plan
from bookgen.store import addons, credits, plans
from bookgen.store.database import DB

FACTS = ("plans", "packages", "addons", "languages", "formats", "length", "limits")
CODES = {entry.code.casefold(): entry for entry in catalogue()}


@dataclass(frozen=True, slots=True)
class ForSale:
    """What is for sale now. An operator may change these rows at any time."""

    plans: Sequence[Plan] = ()
    packages: Sequence[CreditPackage] = ()
    addons: Sequence[Addon] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that do not change while the service runs.

    `sells`: whether billing is on. `url`: the address of the API's documents.
    """

    languages: Sequence[str]
    formats: Sequence[str]
    trims: Sequence[str]
    limits: Mapping[str, str]
    max_chapters: int
    sells: bool
    url: str = ""

    async def offer(self, db: DB) -> ForSale:
        if not self.sells:
            return ForSale()
        return ForSale(await plans.list_active(db), await credits.list_packages(db), await addons.list_active(db))


@dataclass(frozen=True, slots=True)
class Speaker:
    """Puts the facts into sentences of one language.

    `templates`: the section for this language in answers.toml. `question_words`: the words of the question. If some of
    them are names of plans, only these plans are described.
    """

    facts: Facts
    offer: ForSale
    templates: Mapping[str, str]
    question_words: frozenset[str] = field(default_factory=frozenset)

    def say(self, topic: str) -> str:
        """Return the sentences about a topic, such as `plans`."""
        match topic:
            case "plans" | "packages" | "addons" if not self.facts.sells:
                return self.templates["unsold"]
            case "plans":
                asked = [plan for plan in self.offer.plans if _names(plan) & self.question_words]
                return "\n".join(map(self._plan, asked or self.offer.plans))
            case "packages":
                return "\n".join(map(self._package, self.offer.packages))
            case "addons":
                return "\n".join(map(self._addon, self.offer.addons))
            case _:
                return self.templates[topic].format(
                    count=len(self.facts.languages),
                    languages=", ".join(self.facts.languages),
                    formats=", ".join(self.facts.formats),
                    trims=", ".join(self.facts.trims),
                    chapters=self.facts.max_chapters,
                    lengths=self._lengths(),
                    limits=", ".join(f"{name} {rate}" for name, rate in self.facts.limits.items()),
                )

    def all(self) -> str:
        """Return the sentences about all topics in FACTS. Error codes are not among them."""
        return "\n".join(self.say(topic) for topic in FACTS)

    def error(self, code: str) -> str:
        """Return what an error code means and what to do, according to the error catalogue."""
        entry = CODES[code]
        return self.templates["error"].format(
            code=entry.code, status=entry.status, condition=entry.condition, remedy=entry.remedy
        )

    def _plan(self, plan: Plan) -> str:
        features = plan.features
        return self.templates["plan"].format(
            name=plan.name,
            monthly=plan.price_monthly,
            yearly=plan.price_yearly,
            books=self._count(features.books_per_month),
            images=self._count(features.ai_images_per_month),
            edits=self._count(features.ai_edits_per_month),
            checks=self._count(features.proofreading_checks_per_month),
            formats=", ".join(name.upper() for name in features.export_formats),
            words=f"{features.max_word_count_per_book:,}",
            watermark=self.templates["watermark"] if features.watermark else "",
        )

    def _package(self, package: CreditPackage) -> str:
        return self.templates["package"].format(
            name=package.name,
            credits=package.credits,
            price=f"{package.price_cents / 100:.2f}",
            words=f"{package.words_per_book:,}",
        )

    def _addon(self, addon: Addon) -> str:
        prices = {"monthly": addon.price_monthly, "per_use": addon.price_per_use}
        said = [self.templates[name].format(price=price) for name, price in prices.items() if price is not None]
        return self.templates["addon"].format(name=addon.name, prices=", ".join(said))

    def _lengths(self) -> str:
        if not self.offer.plans:
            return self.templates["unlimited"]
        return ", ".join(f"{plan.name} {plan.features.max_word_count_per_book:,}" for plan in self.offer.plans)

    def _count(self, number: int) -> str:
        return self.templates["unlimited"] if number == UNLIMITED else f"{number:,}"


def _names(plan: Plan) -> set[str]:
    return {plan.name.casefold(), plan.slug.casefold()}
