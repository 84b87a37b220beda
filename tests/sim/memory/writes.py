"""INSERT, UPDATE and DELETE, with what a table demands of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tests.sim.memory.constraints import Rules, TableRules
from tests.sim.memory.errors import SqlError
from tests.sim.memory.expressions import Expressions, Frame
from tests.sim.memory.queries import FoundRows
from tests.sim.memory.relations import From
from tests.sim.memory.storage import NO_KEY_UPDATE, UPDATE, StoredRow, Values
from tests.sim.memory.trees import TreeNode, walk

if TYPE_CHECKING:
    from tests.sim.memory.statements import Compiler, Execution

ON_INSERT, ON_DELETE, ON_UPDATE = 4, 8, 16
DO_NOTHING, DO_UPDATE = 1, 2


class Write:
    """A statement that writes to one table. `rows` carries it out, and are those of RETURNING."""

    def __init__(self, compiler: Compiler, node: TreeNode, up: Expressions | None) -> None:
        self._compiler = compiler
        self._node = node
        self._size = len(node.rtable) + 1
        self._expressions = Expressions(compiler, node, up)
        self._ctes = compiler.ctes(node, self._expressions)
        self._target = node.resultRelation
        self._oid = node.rtable[self._target - 1].relid
        compiler.reads(self._oid)
        self._rules: TableRules = compiler.rules.of(self._oid)
        # Sublinks that give several columns at once come before the columns.
        self._before = [
            self._expressions.of(each.expr) for each in node.targetList or () if each.expr.kind == "SUBLINK"
            and each.expr.subLinkType == 5
        ]  # fmt: skip
        self._returning = [self._expressions.of(each.expr) for each in node.returningList or ()]

    def rows(self, up: Frame | None) -> Iterator[tuple[Any, ...]]:
        return iter(self.run(up)[0])

    def run(self, up: Frame | None) -> tuple[list[tuple[Any, ...]], Frame]:
        """All rows, and the frame in which its WITH stands."""
        assert up is not None
        frame = Frame(up.execution, self._size, up)
        if self._ctes:
            frame.ctes = {name: FoundRows(query, frame) for name, query in self._ctes}
        return list(self._carry_out(frame)), frame

    def _carry_out(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        raise NotImplementedError

    def _told(self, frame: Frame, values: Values) -> tuple[Any, ...]:
        frame.rows[self._target] = values
        return tuple([each(frame) for each in self._returning])

    def _assigned(self, entries: list[TreeNode]) -> list[tuple[int, Any]]:
        """Columns by their places, and what they get; None for the default."""
        return [
            (each.resno - 1, None if each.expr.kind == "SETTODEFAULT" else self._expressions.of(each.expr))
            for each in entries if not each.resjunk
        ]  # fmt: skip

    def _current(self, frame: Frame, mode: int, meets: Callable[[Frame], Any]) -> tuple[StoredRow, Values] | None:
        """The row of the target that the frame is at, locked, as it is now; None if it is none of these any more."""
        row, seen = frame.sources[self._target], frame.rows[self._target]
        execution = frame.execution
        newest = row.versions[0]
        if newest.by is execution.transaction and newest.statement >= execution.statement:
            return None  # this very statement has changed it already
        values = execution.lock(row, mode)
        if values is None:
            return None
        if values is not seen:
            frame.rows[self._target] = values
            if not meets(frame):
                return None
        return row, values


class Update(Write):
    def __init__(self, compiler: Compiler, node: TreeNode, up: Expressions | None) -> None:
        super().__init__(compiler, node, up)
        self._scan = From(compiler, node, self._expressions).scan(node.jointree, target=self._target)
        self._columns = self._assigned(node.targetList)
        changed = {place for place, _ in self._columns}
        self._mode = UPDATE if changed & self._rules.keys else NO_KEY_UPDATE
        self._changed = changed
        self._meets = compiler.recheck(node, node.jointree, self._expressions)

    def _carry_out(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        for _ in self._scan(frame):
            found = self._current(frame, self._mode, self._meets)
            if found is None:
                continue
            row, former = found
            for each in self._before:
                each(frame)
            fresh = list(former)
            for place, value in self._columns:
                fresh[place] = self._rules.default(place, frame.execution) if value is None else value(frame)
            yield self._told(frame, self._rules.update(frame.execution, row, former, fresh, self._changed))


class Delete(Write):
    def __init__(self, compiler: Compiler, node: TreeNode, up: Expressions | None) -> None:
        super().__init__(compiler, node, up)
        self._scan = From(compiler, node, self._expressions).scan(node.jointree, target=self._target)
        self._meets = compiler.recheck(node, node.jointree, self._expressions)

    def _carry_out(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        for _ in self._scan(frame):
            found = self._current(frame, UPDATE, self._meets)
            if found is not None:
                self._rules.delete(frame.execution, *found)
                yield self._told(frame, found[1])


class Insert(Write):
    def __init__(self, compiler: Compiler, node: TreeNode, up: Expressions | None) -> None:
        super().__init__(compiler, node, up)
        self._scan = From(compiler, node, self._expressions).scan(node.jointree)
        self._columns = self._assigned(node.targetList)
        self._conflict = node.onConflict
        if self._conflict:
            self._arbiters = self._rules.arbiters(
                {var.varattno for each in self._conflict.arbiterElems or () for var in walk(each) if var.kind == "VAR"}
            )
            self._replaced = self._assigned(self._conflict.onConflictSet or [])
            self._only = (
                self._expressions.of(self._conflict.onConflictWhere) if self._conflict.onConflictWhere else None
            )

    def _carry_out(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        execution, rules = frame.execution, self._rules
        given = dict(self._columns)
        for _ in self._scan(frame):
            fresh = [
                value(frame) if (value := given.get(place)) else rules.default(place, execution)
                for place in range(rules.width)
            ]
            values = rules.complete(execution, fresh)
            if self._conflict:
                met, stored = self._settle_conflict(frame, values)
                if met:
                    if stored is not None:
                        yield self._told(frame, stored)
                    continue
            rules.insert(execution, values)
            yield self._told(frame, values)

    def _settle_conflict(self, frame: Frame, values: Values) -> tuple[bool, Values | None]:
        """Whether there is such a row already, and what it was changed to, if it was."""
        execution, rules = frame.execution, self._rules
        while True:
            rules.check(execution, values)
            row = rules.conflicting(execution, values, self._arbiters)
            if row is None:
                return False, None
            if self._conflict.action == DO_NOTHING:
                return True, None
            newest = row.versions[0]
            if newest.by is execution.transaction and newest.statement >= execution.statement:
                raise SqlError("21000", "ON CONFLICT DO UPDATE command cannot affect row a second time")
            changed = {place for place, _ in self._replaced}
            former = execution.lock(row, UPDATE if changed & rules.keys else NO_KEY_UPDATE)
            if former is not None:
                break
        frame.rows[self._target] = former
        frame.rows[self._conflict.exclRelIndex] = values
        if self._only and not self._only(frame):
            return True, None
        fresh = list(former)
        for place, value in self._replaced:
            fresh[place] = rules.default(place, execution) if value is None else value(frame)
        return True, rules.update(execution, row, former, fresh, changed)


__all__ = ["Delete", "Execution", "Insert", "Rules", "Update"]
