"""AI edits, which rewrite a chapter or a passage. A plan allows a number of AI edits per period.

One edit covers up to WORDS_OF_AN_EDIT words; rewriting a longer chapter costs several edits. For books that neither the
plan nor a credit has paid for yet, the number of words that edits may rewrite in a period is limited too.
"""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing
from bookgen.errors import QuotaExceeded
from bookgen.models import UNLIMITED, Allowance, Rewrite
from bookgen.store import holds, usage
from bookgen.store.database import DB

WORDS_OF_AN_EDIT = 5000  # a longer chapter counts as several edits; otherwise one edit could be a whole book
# Drafts cost nothing, and edits could turn them into unpaid books. So in one period, edits of all unpaid books together
# may write at most half the words of the plan's longest book. On the plan `free`, that is about what its edits write in
# chapters of the usual length.
UNPAID_PART = 2
UNPAID_WORDS = "unpaid_words"  # the `quota_type` of that limit
UNPAID = (
    "In all books that have not been generated yet, AI edits together may write up to {limit:,} words per billing "
    "period. Generate this book first, or lower the chapter's target word count."
)


async def reserve(
    connection: DB, quota: Quota, standing: Standing, book_id: int, words: int, in_flight: Rewrite
) -> Rewrite:
    """Compute what rewriting `words` words of the book costs. Raises QuotaExceeded if the account has too little left.

    This stores nothing: the caller stores the result with its job, which reserves it, and `spend` counts it when the
    job has succeeded. `in_flight`: what the account's other jobs have reserved. The caller must hold `slots.lock`, so
    that two jobs never reserve the same edit.
    """
    edits = max(1, -(-words // WORDS_OF_AN_EDIT))
    await quota.require(connection, standing, Allowance.AI_EDITS, in_flight=in_flight.edits, amount=edits)
    limit = await _unpaid_limit(connection, quota, standing, book_id)
    if limit == UNLIMITED:
        return Rewrite(edits, 0)
    if await _unpaid_words(connection, standing) + in_flight.unpaid_words + words > limit:
        raise await _too_many_unpaid(connection, quota, standing, limit, in_flight.unpaid_words)
    return Rewrite(edits, words)


def covers(takes: Rewrite, words: int) -> bool:
    """Whether the reserved cost `takes` is enough to rewrite `words` words."""
    return words <= takes.edits * WORDS_OF_AN_EDIT and (takes.unpaid_words == 0 or words <= takes.unpaid_words)


async def spend(connection: DB, quota: Quota, account_id: int, takes: Rewrite) -> None:
    """Count the reserved cost `takes` of a rewrite. Call it in the transaction that stores the new text.

    Raises QuotaExceeded if the account has too little left.
    """
    if takes.unpaid_words:
        standing = await quota.standing(connection, account_id)
        period, limit = standing.period, standing.plan.features.max_word_count_per_book // UNPAID_PART
        if not await usage.spend_unpaid_words(
            connection, account_id, period.start, period.end, limit, takes.unpaid_words
        ):
            raise await _too_many_unpaid(connection, quota, standing, limit, 0)
    await quota.spend(connection, account_id, Allowance.AI_EDITS, takes.edits)


async def _unpaid_limit(db: DB, quota: Quota, standing: Standing, book_id: int) -> int:
    features = standing.plan.features
    if features.books_per_month == UNLIMITED or await holds.pays_for(db, standing.account_id, book_id, quota.now()):
        return UNLIMITED
    return features.max_word_count_per_book // UNPAID_PART


async def _unpaid_words(db: DB, standing: Standing) -> int:
    return await usage.unpaid_words(db, standing.account_id, standing.period.start)


async def _too_many_unpaid(db: DB, quota: Quota, standing: Standing, limit: int, in_flight: int) -> QuotaExceeded:
    details = quota.exhausted(standing, UNPAID_WORDS, limit, await _unpaid_words(db, standing), in_flight)
    return QuotaExceeded(UNPAID.format(limit=limit), **details)
