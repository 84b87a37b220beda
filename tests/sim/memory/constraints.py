"""What a table demands of its rows: defaults, checks, unique indexes, foreign keys, triggers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.sim.memory.catalog import Catalog, ForeignKey, TableShape, UniqueIndex
from tests.sim.memory.errors import SqlError
from tests.sim.memory.expressions import Expression, Expressions, Frame, is_fixed
from tests.sim.memory.routines import SPECIAL, TRIGGERS, nextval
from tests.sim.memory.storage import KEY_SHARE, NO_KEY_UPDATE, UPDATE, StoredRow, StoredTable, Transaction, Values
from tests.sim.memory.trees import TreeNode, walk

if TYPE_CHECKING:
    from tests.sim.memory.statements import Execution

BEFORE, ON_INSERT, ON_DELETE, ON_UPDATE = 2, 4, 8, 16


class Rules:
    """Of all tables."""

    def __init__(self, catalog: Catalog, shapes: dict[int, TableShape]) -> None:
        self.catalog = catalog
        self.shapes = shapes
        self._of: dict[int, TableRules] = {}

    def of(self, oid: int) -> TableRules:
        if oid not in self._of:
            self._of[oid] = TableRules(self, self.shapes[oid])
        return self._of[oid]

    def special(self, name: str) -> Callable[..., Any] | None:
        return SPECIAL.get(name)


class TableRules:
    """`keys`: the columns, by their places, that a foreign key may refer to."""

    def __init__(self, rules: Rules, shape: TableShape) -> None:
        self._rules = rules
        self._shape = shape
        self._oid = shape.oid
        self.width = len(shape.columns)
        self._defaults = [self._default(place) for place in range(self.width)]
        self._generated = [
            (place, self._expression(column.default))
            for place, column in enumerate(shape.columns) if column.generated and column.default
        ]  # fmt: skip
        self._not_null = [place for place, column in enumerate(shape.columns) if column.not_null]
        self._checks = [(name, _columns_of(node), self._expression(node)) for name, node in shape.checks]
        self._unique = [Unique(self, index) for index in shape.unique]
        plain = [index for index in shape.unique if index.predicate is None and not index.expressions]
        self.keys = {column - 1 for index in plain for column in index.columns}

    def _expression(self, node: Any) -> Expression:
        return Expressions(self._rules, None, None).of(node)  # type: ignore[arg-type]

    def _default(self, place: int) -> Callable[[Execution], Any]:
        column = self._shape.columns[place]
        if column.identity and column.sequence is not None:
            sequence = column.sequence
            return lambda execution: nextval(execution, sequence)
        if column.default is None or column.generated:
            return lambda _execution: None
        value = self._expression(column.default)
        if is_fixed(column.default) and not any(each.kind == "FUNCEXPR" for each in walk(column.default)):
            constant = value(Frame(None, 2, None))  # type: ignore[arg-type]
            return lambda _execution: constant
        return lambda execution: value(Frame(execution, 2, None))

    def default(self, place: int, execution: Execution) -> Any:
        return self._defaults[place](execution)

    # A row on its way

    def complete(self, execution: Execution, fresh: list[Any]) -> Values:
        """With what triggers make of it before it comes, and what is computed from the rest."""
        for trigger in self._shape.triggers:
            if trigger.kind & BEFORE and trigger.kind & ON_INSERT and trigger.kind & 1:
                fresh = TRIGGERS[trigger.function](execution, self._shape, None, fresh) or fresh
        return self._computed(execution, fresh)

    def _computed(self, execution: Execution, fresh: list[Any]) -> Values:
        if self._generated:
            frame = Frame(execution, 2, None)
            frame.rows[1] = fresh
            for place, value in self._generated:
                fresh[place] = value(frame)
        return tuple(fresh)

    def check(self, execution: Execution, values: Values, changed: set[int] | None = None) -> None:
        name = self._shape.name
        for place in self._not_null:
            if values[place] is None:
                column = self._shape.columns[place].name
                raise SqlError("23502", f'null value in column "{column}" of relation "{name}"', table=name)
        if self._checks:
            frame = Frame(execution, 2, None)
            frame.rows[1] = values
            for constraint, columns, test in self._checks:
                if (changed is None or columns & changed) and test(frame) is False:
                    raise SqlError("23514", f'new row violates check constraint "{constraint}"', constraint, name)

    def arbiters(self, columns: set[int]) -> list[Unique]:
        """The unique indexes on just these columns, by their numbers; all where none is named."""
        return [each for each in self._unique if not columns or set(each.index.columns) == columns]

    def conflicting(
        self, execution: Execution, values: Values, unique: list[Unique], itself: StoredRow | None = None
    ) -> StoredRow | None:
        """A row that keeps this one out by one of the indexes, once it is decided whether it does."""
        table = execution.store.tables[self._oid]
        for each in unique:
            if (row := each.conflicting(execution, table, values, itself)) is not None:
                return row
        return None

    def insert(self, execution: Execution, values: Values) -> None:
        self.check(execution, values)
        table = execution.store.tables[self._oid]
        for each in self._unique:
            each.require(execution, table, values, None)
        row = table.add(values, execution.transaction, execution.statement)
        row.lock(execution.transaction, UPDATE)
        for key in self._shape.keys:
            self._require_parent(execution, key, values)
        self._fire(execution, ON_INSERT, None, values, set())

    def update(
        self, execution: Execution, row: StoredRow, former: Values, fresh: list[Any], changed: set[int]
    ) -> Values:
        values = self._computed(execution, fresh)
        self.check(execution, values, changed)
        table = execution.store.tables[self._oid]
        table.write(row, values, execution.transaction, execution.statement)
        for each in self._unique:
            if each.columns & changed:
                each.require(execution, table, values, row)
        for key in self._shape.keys:
            if any(values[column - 1] != former[column - 1] for column in key.columns):
                self._require_parent(execution, key, values)
        self._fire(execution, ON_UPDATE, former, values, changed)
        return values

    def delete(self, execution: Execution, row: StoredRow, former: Values) -> None:
        execution.store.tables[self._oid].write(row, None, execution.transaction, execution.statement)
        for key in self._shape.referenced:
            execution.after.append(functools.partial(self._orphan, execution, key, former))
        self._fire(execution, ON_DELETE, former, None, set())

    # Afterwards

    def _fire(
        self, execution: Execution, event: int, former: Values | None, values: Values | None, changed: set[int]
    ) -> None:
        for trigger in self._shape.triggers:
            if not trigger.kind & 1 or not trigger.kind & event or (trigger.kind & BEFORE and event == ON_INSERT):
                continue
            if event == ON_UPDATE and trigger.columns and not {column - 1 for column in trigger.columns} & changed:
                continue
            fire = functools.partial(TRIGGERS[trigger.function], execution, self._shape, former, values)
            if trigger.deferred:
                execution.transaction.deferred.append(fire)
            elif trigger.kind & BEFORE:
                fire()
            else:
                execution.after.append(fire)

    def _require_parent(self, execution: Execution, key: ForeignKey, values: Values) -> None:
        wanted = tuple(values[column - 1] for column in key.columns)
        if None in wanted:
            return

        def look() -> None:
            table = execution.store.tables[key.parent]
            row = _find(execution, table, key.parent_columns, wanted)
            if row is None or execution.lock(row, KEY_SHARE) is None:
                raise SqlError(
                    "23503", f'insert or update on table "{self._shape.name}" violates foreign key constraint '
                    f'"{key.name}"', key.name, self._shape.name,
                )  # fmt: skip

        (execution.transaction.deferred if key.deferred else execution.after).append(look)

    def _orphan(self, execution: Execution, key: ForeignKey, former: Values) -> None:
        """What becomes of the rows that refer to one that is deleted."""
        wanted = tuple(former[column - 1] for column in key.parent_columns)
        table = execution.store.tables[key.table]
        rules = self._rules.of(key.table)
        place = key.columns[0] - 1
        execution.transaction.statement += 1
        for row in table.having(place, wanted[0]):
            mode = UPDATE if key.on_delete == "c" else NO_KEY_UPDATE
            values = row.latest(execution.transaction)
            if values is None or tuple(values[column - 1] for column in key.columns) != wanted:
                continue
            if key.on_delete in "ar":
                raise SqlError("23503", f'update or delete violates foreign key constraint "{key.name}"', key.name)
            values = execution.lock(row, mode)
            if values is None:
                continue
            if key.on_delete == "c":
                rules.delete(execution, row, values)
            else:
                fresh = list(values)
                for column in key.columns:
                    fresh[column - 1] = None
                rules.update(execution, row, values, fresh, {column - 1 for column in key.columns})


class Unique:
    """A unique index."""

    def __init__(self, rules: TableRules, index: UniqueIndex) -> None:
        self.index = index
        self._shape = rules._shape
        self._places = [column - 1 for column in index.columns]
        if index.expressions:
            raise NotImplementedError(f"{index.name} is of expressions")
        self._predicate = rules._expression(_one(index.predicate)) if index.predicate else None
        self.columns = set(self._places) | (_columns_of(index.predicate) if index.predicate else set())

    def require(self, execution: Execution, table: StoredTable, values: Values, itself: StoredRow | None) -> None:
        """SqlError when another row has the same key."""
        if not self.index.immediate:
            execution.after.append(lambda: self._require_now(execution, table, values, itself))
        else:
            self._require_now(execution, table, values, itself)

    def _require_now(self, execution: Execution, table: StoredTable, values: Values, itself: StoredRow | None) -> None:
        if itself is None and not self.index.immediate:
            same = [row for row in table.having(self._places[0], values[self._places[0]])
                    if self._has(execution, row.latest(execution.transaction), self._key(values))]  # fmt: skip
            met = len(same) > 1
        else:
            met = self.conflicting(execution, table, values, itself) is not None
        if met:
            raise SqlError(
                "23505", f'duplicate key value violates unique constraint "{self.index.name}"', self.index.name,
                self._shape.name,
            )  # fmt: skip

    def conflicting(
        self, execution: Execution, table: StoredTable, values: Values, itself: StoredRow | None
    ) -> StoredRow | None:
        key = self._key(values)
        if None in key or not self._covers(execution, values):
            return None
        while True:
            for row in table.having(self._places[0], key[0]):
                if row is itself:
                    continue
                writer = self._undecided(execution, row, key)
                if writer is not None:
                    execution.wait_for(writer)
                    break
                if self._has(execution, row.latest(execution.transaction), key):
                    return row
            else:
                return None

    def _undecided(self, execution: Execution, row: StoredRow, key: Any) -> Transaction | None:
        """Another transaction by whose end it is decided whether the row has the key."""
        writer = row.versions[0].by
        if writer is None or writer is execution.transaction or writer.seq is not None:
            return None
        return writer if any(self._has(execution, version.values, key) for version in row.versions) else None

    def _key(self, values: Values) -> Any:
        return tuple([values[place] for place in self._places])

    def _has(self, execution: Execution, values: Values | None, key: Any) -> bool:
        return values is not None and self._key(values) == key and self._covers(execution, values)

    def _covers(self, execution: Execution, values: Values) -> bool:
        if self._predicate is None:
            return True
        frame = Frame(execution, 2, None)
        frame.rows[1] = values
        return bool(self._predicate(frame))


def _find(execution: Execution, table: StoredTable, columns: tuple[int, ...], wanted: Any) -> StoredRow | None:
    for row in table.having(columns[0] - 1, wanted[0]):
        values = row.latest(execution.transaction)
        if values is not None and tuple(values[column - 1] for column in columns) == wanted:
            return row
    return None


def _columns_of(node: Any) -> set[int]:
    return {each.varattno - 1 for each in walk(node) if each.kind == "VAR"}


def _one(predicate: Any) -> TreeNode:
    """The conditions of a partial index as one."""
    if isinstance(predicate, list):
        return predicate[0] if len(predicate) == 1 else TreeNode("BOOLEXPR", {"boolop": "and", "args": predicate})
    return predicate  # type: ignore[no-any-return]
