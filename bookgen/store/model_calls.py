"""The ledger of model calls: their tokens, images and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from bookgen.models import Usage
from bookgen.store.database import DB


@dataclass(frozen=True, slots=True)
class PaidCall:
    """A model call that the provider charges for. `cost_micros` is None if the model is not in the price table."""

    model: str
    usage: Usage
    cost_micros: int | None
    id: UUID = field(default_factory=uuid4)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Paid calls for the ledger, and what they were made for: a stage of the work on an account's book.

    `calls`: usually one; several if a call was retried.
    """

    account_id: int | None
    book_id: int | None
    run_id: UUID | None
    stage: str
    chapter_number: int | None
    calls: tuple[PaidCall, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a model call, ready to be stored. `key`: the hash of the request. `reply`: a TextReply as JSON.

    `words`: how many words the model was asked for. If the run is stopped before the reply is stored, the reply cannot
    be used, and these words are counted as lost.
    """

    key: str
    reply: dict[str, Any]
    entry: LedgerEntry
    words: int = 0


# The columns of `LedgerEntry`, then those of `values_of` for each call. A call already in the ledger is skipped.
LEDGER = """model_call (
        account_id, book_id, run_id, stage, chapter_number, call_id, model, input_tokens, output_tokens,
        cache_write_tokens, cache_read_tokens, images, cost_micros)"""
ONCE = "ON CONFLICT (call_id) DO NOTHING"

# The book $2, or null if it has been deleted. Its calls were paid for, so they are recorded either way.
BOOK = "(SELECT id FROM book WHERE id = $2 FOR KEY SHARE)"

CHARGE = f"""
    INSERT INTO {LEDGER}
    SELECT $1, {BOOK}, $3, $4, $5, call.*
      FROM unnest($6::uuid[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::integer[],
                  $13::bigint[]) AS call
    {ONCE}
"""


async def charge(db: DB, entry: LedgerEntry) -> None:
    """Record the calls in the ledger. Idempotent."""
    await db.execute(
        CHARGE, entry.account_id, entry.book_id, entry.run_id, entry.stage, entry.chapter_number,
        *values_of(entry.calls),
    )  # fmt: skip


def values_of(calls: Sequence[PaidCall]) -> tuple[list[Any], ...]:
    """The ledger columns of the calls: ids, models, the four kinds of tokens, images, prices."""
    return (
        [call.id for call in calls],
        [call.model for call in calls],
        [call.usage.input_tokens for call in calls],
        [call.usage.output_tokens for call in calls],
        [call.usage.cache_write_tokens for call in calls],
        [call.usage.cache_read_tokens for call in calls],
        [call.usage.images for call in calls],
        [call.cost_micros for call in calls],
    )
