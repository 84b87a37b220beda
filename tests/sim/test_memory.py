"""The store in memory where no schedule looks: what a failover loses, and who waits for whom."""

from __future__ import annotations

import pytest

from tests.sim.memory.catalog import TableShape
from tests.sim.memory.storage import KEY_SHARE, NO_KEY_UPDATE, SHARE, UPDATE, Store, StoredTable, Transaction


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def table(store: Store) -> StoredTable:
    store.tables[1] = StoredTable(TableShape(1, "book"))
    return store.tables[1]


def test_a_failover_takes_back_the_newest_commits_and_no_others(store: Store, table: StoredTable) -> None:
    now = 0.0
    store.clock = lambda: now
    first, second = Transaction(None), Transaction(None)
    row = table.add((1, "a title"), first)
    store.commit(first)
    now = 10.0
    table.write(row, (1, "another"), second, 1)
    table.add((2, "a second book"), second)
    store.commit(second)

    assert store.lose(1.0) == 1

    assert [each.latest(Transaction(None)) for each in table.rows] == [(1, "a title")]
    assert (list(table.having(1, "a title")), list(table.having(1, "another"))) == ([row], [])


def test_what_a_transaction_wrote_is_seen_by_itself_later_and_by_others_once_it_is_committed(
    store: Store, table: StoredTable
) -> None:
    writer, reader = Transaction(None), Transaction(None)
    row = table.add((1,), writer, statement=1)

    assert (row.seen(store.commits, writer, 1), row.seen(store.commits, writer, 2)) == (None, (1,))
    assert row.seen(store.commits, reader, 1) is None
    before = store.commits
    store.commit(writer)
    assert row.seen(store.commits, reader, 1) == (1,)
    assert store.commits > before


@pytest.mark.parametrize(
    ("held", "wanted", "waits"),
    [
        (KEY_SHARE, NO_KEY_UPDATE, False),
        (KEY_SHARE, UPDATE, True),
        (SHARE, SHARE, False),
        (SHARE, NO_KEY_UPDATE, True),
        (NO_KEY_UPDATE, KEY_SHARE, False),
        (NO_KEY_UPDATE, NO_KEY_UPDATE, True),
        (UPDATE, KEY_SHARE, True),
    ],
)
def test_locks_of_rows_conflict_as_postgresql_has_them(table: StoredTable, held: int, wanted: int, waits: bool) -> None:
    holder, other = Transaction(None), Transaction(None)
    row = table.add((1,), None)
    row.lock(holder, held)

    assert row.conflicting(other, wanted) is (holder if waits else None)
