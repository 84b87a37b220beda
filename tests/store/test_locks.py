"""One lock order: read from each statement here, and from the transactions of every test by `tests/locks.py`."""

from __future__ import annotations

import pytest

from tests.locks import in_order, locked
from tests.store.test_queries import QUERIES


def test_what_a_statement_locks_is_read_from_its_text() -> None:
    assert locked("SELECT FROM book b JOIN chapter c ON true FOR KEY SHARE OF b") == ("book",)
    assert locked("WITH a AS (SELECT FROM run FOR UPDATE) UPDATE chapter AS c SET x = 1") == ("run", "chapter")
    assert locked("INSERT INTO usage_period AS u (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2") == (
        "subscription",
    )
    assert locked("SELECT FROM report c JOIN book b ON true FOR UPDATE OF b, c SKIP LOCKED") == ()


def test_a_first_lock_of_a_lower_rank_after_a_higher_one_is_out_of_order() -> None:
    assert in_order(("run", "book", "chapter", "run"))
    assert not in_order(("chapter", "book"))
    assert not in_order(("report", "subscription"))


@pytest.mark.parametrize("query", QUERIES)
def test_a_statement_takes_its_locks_in_order(query: str) -> None:
    assert in_order(locked(query)), locked(query)
