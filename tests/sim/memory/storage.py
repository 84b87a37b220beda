"""Versions of rows, who sees which, and who has which locked.

As in PostgreSQL at READ COMMITTED: each statement sees what was committed before it began, and what its own transaction
did before it; a row has one writer at a time; locks last until the transaction ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.sim.memory.catalog import TableShape

Values: TypeAlias = tuple[Any, ...]

KEY_SHARE, SHARE, NO_KEY_UPDATE, UPDATE = 1, 2, 3, 4  # two conflict when they make 5 or more
CONFLICT = 5


class Transaction:
    """`seq`: the number of its commit; None while it is open. `undo`: what it wrote, in order."""

    __slots__ = (
        "advisory", "deferred", "locked", "notified", "over", "savepoints", "seq", "session", "statement", "tables",
        "undo", "wrote",
    )  # fmt: skip

    def __init__(self, session: Any) -> None:
        self.session = session
        self.seq: int | None = None
        self.over = False
        self.statement = 0
        self.undo: list[tuple[StoredTable, StoredRow]] = []
        self.locked: list[StoredRow] = []
        self.advisory: list[Any] = []
        self.tables: set[StoredTable] = set()
        self.notified: dict[tuple[str, str], None] = {}
        self.deferred: list[Callable[[], None]] = []
        self.savepoints: list[tuple[str, int]] = []
        self.wrote = False


class Version:
    """`values`: None for a row that is deleted. `by`: None once nobody doubts it."""

    __slots__ = ("by", "statement", "values")

    def __init__(self, values: Values | None, by: Transaction | None, statement: int) -> None:
        self.values = values
        self.by = by
        self.statement = statement


class StoredRow:
    """The versions of a row, the newest first, and who has it locked how."""

    __slots__ = ("locks", "versions")

    def __init__(self, version: Version) -> None:
        self.versions = [version]
        self.locks: dict[Transaction, int] | None = None

    def seen(self, snapshot: int, by: Transaction, statement: int) -> Values | None:
        """What the statement of that number in the transaction sees of it."""
        for version in self.versions:
            writer = version.by
            if writer is None:
                return version.values
            if writer is by:
                if version.statement < statement:
                    return version.values
            elif writer.seq is not None and writer.seq <= snapshot:
                return version.values
        return None

    def latest(self, by: Transaction) -> Values | None:
        """What is committed by now, or was written by the transaction itself."""
        for version in self.versions:
            writer = version.by
            if writer is None or writer is by or writer.seq is not None:
                return version.values
        return None

    def before(self, by: Transaction) -> Values | None:
        """What it was before the transaction wrote it."""
        return next((version.values for version in self.versions if version.by is not by), None)

    def conflicting(self, by: Transaction, mode: int) -> Transaction | None:
        """Another transaction whose lock keeps this one from its own."""
        for other, held in (self.locks or {}).items():
            if other is not by and held + mode >= CONFLICT and not other.over:
                return other
        return None

    def lock(self, by: Transaction, mode: int) -> None:
        if self.locks is None:
            self.locks = {}
        held = self.locks.get(by)
        if held is None:
            by.locked.append(self)
        if held is None or held < mode:
            self.locks[by] = mode


class StoredTable:
    """Rows in the order in which they came, and those of them that have a value in a column."""

    def __init__(self, shape: TableShape) -> None:
        self.shape = shape
        self.rows: dict[StoredRow, None] = {}
        self.exclusive: Transaction | None = None  # who alters it, or waits to
        self._by_value: dict[int, dict[Any, dict[StoredRow, None]]] = {}

    def empty(self) -> None:
        self.rows.clear()
        self.exclusive = None
        for found in self._by_value.values():
            found.clear()

    def having(self, column: int, value: Any) -> Iterable[StoredRow]:
        """Rows of which some version has the value."""
        if column not in self._by_value:
            self._index(column)
        return tuple(self._by_value[column].get(value, ()))

    def _index(self, column: int) -> None:
        self._by_value[column] = {}
        for row in self.rows:
            for version in row.versions:
                if version.values is not None:
                    self._by_value[column].setdefault(version.values[column], {})[row] = None

    def add(self, values: Values, by: Transaction | None, statement: int = 0) -> StoredRow:
        row = StoredRow(Version(values, by, statement))
        self.rows[row] = None
        self._enter(row, values)
        if by is not None:
            by.undo.append((self, row))
            by.wrote = True
        return row

    def write(self, row: StoredRow, values: Values | None, by: Transaction, statement: int) -> None:
        """A new version; None deletes the row."""
        row.versions.insert(0, Version(values, by, statement))
        if values is not None:
            self._enter(row, values)
        by.undo.append((self, row))
        by.wrote = True

    def take_back(self, row: StoredRow) -> None:
        """The newest version never was."""
        gone = row.versions.pop(0)
        self._leave(row, gone.values)
        if not row.versions:
            self.rows.pop(row, None)

    def put_back(self, row: StoredRow, values: Values | None) -> None:
        """The row is what it was, whatever was made of it since."""
        gone = row.versions
        row.versions = [] if values is None else [Version(values, None, 0)]
        for version in gone:
            self._leave(row, version.values)
        if values is None:
            self.rows.pop(row, None)
        else:
            self.rows[row] = None
            self._enter(row, values)

    def settle(self, row: StoredRow) -> None:
        """Forgets the versions that nobody will ask for: all but the newest, which is committed."""
        former = row.versions[1:]
        newest = row.versions[0]
        newest.by = None
        del row.versions[1:]
        for version in former:
            self._leave(row, version.values)
        if newest.values is None:
            self.rows.pop(row, None)

    def _enter(self, row: StoredRow, values: Values) -> None:
        for column, found in self._by_value.items():
            found.setdefault(values[column], {})[row] = None

    def _leave(self, row: StoredRow, values: Values | None) -> None:
        if values is None:
            return
        for column, found in self._by_value.items():
            value = values[column]
            if not any(v.values is not None and v.values[column] == value for v in row.versions):
                rows = found.get(value)
                if rows is not None:
                    rows.pop(row, None)


@dataclass(frozen=True, slots=True)
class Commit:
    """When a transaction was committed, and what the rows that it wrote were before; None: there was no such row."""

    at: float
    before: list[tuple[StoredTable, StoredRow, Values | None]]


class Store:
    """All tables, and the transactions that are open. `history`: the newest commits, which a failover may lose."""

    def __init__(self) -> None:
        self.tables: dict[int, StoredTable] = {}
        self.commits = 0
        self.sequences: dict[int, int] = {}
        self.advisory: dict[Any, Transaction] = {}
        self.waiting = 0  # statements
        self.clock: Callable[[], float] = float  # by which commits are dated
        self.history: deque[Commit] = deque(maxlen=100)
        self._unsettled: list[tuple[StoredTable, StoredRow]] = []

    def commit(self, transaction: Transaction) -> None:
        if transaction.wrote:
            rows = {id(row): (table, row, row.before(transaction)) for table, row in transaction.undo}
            self.history.append(Commit(self.clock(), list(rows.values())))
        self.commits += 1
        transaction.seq = self.commits
        self._unsettled += transaction.undo
        self._end(transaction)
        if not self.waiting:
            self.settle()

    def lose(self, seconds: float) -> int:
        """What was committed in the last so many never was; how many transactions that is. None may be open."""
        lost, since = 0, self.clock() - seconds
        self.settle()
        while self.history and self.history[-1].at >= since:
            lost += 1
            for table, row, values in reversed(self.history.pop().before):
                table.put_back(row, values)
        return lost

    def take_back(self, transaction: Transaction, to: int) -> None:
        """What the transaction wrote after its first `to` writes never was."""
        while len(transaction.undo) > to:
            table, row = transaction.undo.pop()
            table.take_back(row)

    def roll_back(self, transaction: Transaction) -> None:
        self.take_back(transaction, 0)
        self._end(transaction)

    def settle(self) -> None:
        for table, row in self._unsettled:
            if row.versions and row.versions[0].by is not None and row.versions[0].by.seq is not None:
                table.settle(row)
            elif len(row.versions) > 1:
                self._settle_below(table, row)
        self._unsettled.clear()

    def _settle_below(self, table: StoredTable, row: StoredRow) -> None:
        """Of a row that an open transaction has written, what was committed before it."""
        for place, version in enumerate(row.versions):
            if version.by is None or version.by.seq is not None:
                version.by = None
                former = row.versions[place + 1 :]
                del row.versions[place + 1 :]
                for each in former:
                    table._leave(row, each.values)
                return

    def _end(self, transaction: Transaction) -> None:
        transaction.over = True
        for row in transaction.locked:
            if row.locks:
                row.locks.pop(transaction, None)
        for key in transaction.advisory:
            self.advisory.pop(key, None)
        for table in transaction.tables:
            if table.exclusive is transaction:
                table.exclusive = None
