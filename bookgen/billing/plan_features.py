"""What a plan allows, as functions of the plan's features."""

from __future__ import annotations

from collections.abc import Iterable

from bookgen.errors import PlanUpgradeRequired
from bookgen.models import UNLIMITED, Plan

FREE = "free"
SELF_HOSTED = "self-hosted"


def require_format(plan: Plan, requested: str, upgrade_url: str) -> None:
    if requested not in plan.features.export_formats:
        raise PlanUpgradeRequired(
            f"The {plan.name} plan does not export {requested}, only {', '.join(plan.features.export_formats)}. Choose "
            "another format, or a larger plan.",
            requested_format=requested,
            allowed_formats=list(plan.features.export_formats),
            upgrade_url=upgrade_url,
        )


def require_chapter_images(plan: Plan, upgrade_url: str) -> None:
    if not plan.features.chapter_images:
        raise PlanUpgradeRequired(
            f"The {plan.name} plan does not include chapter illustrations. Choose a larger plan.",
            plan=plan.slug,
            upgrade_url=upgrade_url,
        )


def covers_words(plan: Plan, words: int) -> bool:
    return words <= plan.features.max_word_count_per_book


def pays_for_any(plan: Plan, words: int) -> bool:
    """Whether the plan allows books of this many words, and any number of books a month."""
    return plan.features.books_per_month == UNLIMITED and covers_words(plan, words)


def larger_plan(plan: Plan, offered: Iterable[Plan], words: int) -> Plan | None:
    """The first of the `offered` plans that has more books a month than `plan` and allows books of this many words.

    None if there is no such plan.
    """
    books = plan.features.books_per_month
    return next(
        (
            each
            for each in offered
            if (each.features.books_per_month == UNLIMITED or each.features.books_per_month > books)
            and books != UNLIMITED
            and covers_words(each, words)
        ),
        None,
    )


def left(limit: int, taken: int) -> int:
    """How much of `limit` is left after `taken`. A limit of -1 means unlimited; then this is -1 too."""
    return UNLIMITED if limit == UNLIMITED else max(limit - taken, 0)
