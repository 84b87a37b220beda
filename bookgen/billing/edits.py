"""AI edits: each rewrites a bounded number of words. Books that nothing pays for have a further limit on words."""

from __future__ import annotations

from bookgen.billing.quota import Quota
from bookgen.billing.standing import Standing
from bookgen.errors import QuotaExceeded
from bookgen.models import UNLIMITED, Allowance
from bookgen.store import holds, usage
from bookgen.store.database import DB

WORDS_OF_AN_EDIT = 5000  # a longer chapter is several edits, or one would be a whole book
# Drafts cost nothing. So that edits do not make books of them that nothing has paid for, all of them together have no
# more words written a period than half of the plan's longest book: on `free` what its edits come to in usual chapters.
UNPAID_PART = 2
UNPAID_WORDS = "unpaid_words"  # the `quota_type` of that bound
UNPAID = (
    "Nothing has paid for this book yet, and AI edits write no more than {limit:,} words of such books a period. "
    "Generate the book, or give the chapter fewer words."
)


async def require(db: DB, quota: Quota, account_id: int, book_id: int, words: int) -> None:
    """Raise QuotaExceeded if too little is left to rewrite a chapter of `words` words. Counts nothing."""
    standing = await quota.standing(db, account_id)
    await quota.require(db, standing, Allowance.AI_EDITS, in_flight=0, amount=_edits(words))
    limit = await _unpaid_limit(db, quota, standing, book_id)
    if limit != UNLIMITED and await _unpaid_words(db, standing) + words > limit:
        raise await _too_many_unpaid(db, quota, standing, limit)


async def spend(connection: DB, quota: Quota, account_id: int, book_id: int, words: int) -> None:
    """Count the rewrite, in the transaction that stores the text. Raises QuotaExceeded and then counts nothing."""
    standing = await quota.standing(connection, account_id)
    period, limit = standing.period, await _unpaid_limit(connection, quota, standing, book_id)
    if limit != UNLIMITED and not await usage.spend_unpaid_words(
        connection, account_id, period.start, period.end, limit, words
    ):
        raise await _too_many_unpaid(connection, quota, standing, limit)
    await quota.spend(connection, account_id, Allowance.AI_EDITS, _edits(words))


def _edits(words: int) -> int:
    return max(1, -(-words // WORDS_OF_AN_EDIT))


async def _unpaid_limit(db: DB, quota: Quota, standing: Standing, book_id: int) -> int:
    features = standing.plan.features
    if features.books_per_month == UNLIMITED or await holds.pays_for(db, standing.account_id, book_id, quota.now()):
        return UNLIMITED
    return features.max_word_count_per_book // UNPAID_PART


async def _unpaid_words(db: DB, standing: Standing) -> int:
    return await usage.unpaid_words(db, standing.account_id, standing.period.start)


async def _too_many_unpaid(db: DB, quota: Quota, standing: Standing, limit: int) -> QuotaExceeded:
    details = quota.exhausted(standing, UNPAID_WORDS, limit, await _unpaid_words(db, standing))
    return QuotaExceeded(UNPAID.format(limit=limit), **details)
