"""SELECT: from rows to what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from tests.sim.memory import functions
from tests.sim.memory.expressions import Expression, Expressions, Frame, type_of
from tests.sim.memory.relations import RELATION, SUBQUERY, From
from tests.sim.memory.storage import KEY_SHARE, NO_KEY_UPDATE, SHARE, UPDATE
from tests.sim.memory.trees import TreeNode

if TYPE_CHECKING:
    from tests.sim.memory.statements import Compiler

STRENGTHS = {1: KEY_SHARE, 2: SHARE, 3: NO_KEY_UPDATE, 4: UPDATE}
SKIP_LOCKED, NO_WAIT = 1, 2


class FoundRows:
    """The rows of a query of WITH, found once, when they are first asked for."""

    def __init__(self, query: Any, frame: Frame) -> None:
        self._query = query
        self._frame = frame
        self._rows: list[Any] | None = None

    def rows(self) -> list[Any]:
        if self._rows is None:
            self._rows = list(self._query.rows(self._frame))
        return self._rows


class Query:
    """A SELECT. `rows` are its rows, as tuples, for a frame of the query around it."""

    def __init__(self, compiler: Compiler, node: TreeNode, up: Expressions | None) -> None:
        self._compiler = compiler
        self._node = node
        self._size = len(node.rtable or ()) + 1
        self._expressions = expressions = Expressions(compiler, node, up)
        self._ctes = compiler.ctes(node, expressions)
        self._found: Callable[[Frame], Iterator[tuple[Any, ...]]]
        if node.setOperations:
            self._found = self._union()
            return
        self._scan = From(compiler, node, expressions).scan(node.jointree)
        self._targets = [(self._target(each), each) for each in node.targetList or ()]
        self._shown = [place for place, (_, each) in enumerate(self._targets) if not each.resjunk]
        self._told = [target for target, each in self._targets if not each.resjunk]
        self._having = expressions.of(node.havingQual) if node.havingQual else None
        self._sort = self._order(node.sortClause or [])
        self._distinct = [self._place(each) for each in node.distinctClause or ()]
        self._groups = [self._targets[self._place(each)][0] for each in node.groupClause or ()]
        self._aggregates = [self._aggregate(each) for each in expressions.aggregates]
        self._grouped = bool(node.groupClause or node.hasAggs or node.havingQual)
        self._offset = expressions.of(node.limitOffset) if node.limitOffset else None
        self._limit = expressions.of(node.limitCount) if node.limitCount else None
        self._locks = [self._lock(each) for each in node.rowMarks or ()]
        simple = not (self._sort or self._distinct or self._offset or self._limit or self._locks)
        if simple and self._grouped and not self._groups:
            self._found = self._one_row
        else:
            self._found = self._simple if simple and not self._grouped else self._whole

    def rows(self, up: Frame | None) -> Iterator[tuple[Any, ...]]:
        return self._found(self._frame(up))

    def run(self, up: Frame | None) -> tuple[list[tuple[Any, ...]], Frame]:
        """All rows, and the frame in which its WITH stands."""
        frame = self._frame(up)
        return list(self._found(frame)), frame

    def _frame(self, up: Frame | None) -> Frame:
        assert up is not None
        frame = Frame(up.execution, self._size, up)
        if self._ctes:
            frame.ctes = {name: FoundRows(query, frame) for name, query in self._ctes}
        return frame

    def _simple(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        targets = self._told
        for _ in self._scan(frame):
            yield tuple([target(frame) for target in targets])

    def _one_row(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        if self._aggregated(frame):
            yield tuple([target(frame) for target in self._told])

    def _aggregated(self, frame: Frame) -> bool:
        """Aggregates over all rows. Whether they meet HAVING."""
        collected: list[list[Any]] = [[] for _ in self._aggregates]
        collecting = [(collect, rows) for (collect, _), rows in zip(self._aggregates, collected, strict=True)]
        for _ in self._scan(frame):
            for collect, rows in collecting:
                collect(frame, rows)
        frame.aggregates = [finish(rows) for (_, finish), rows in zip(self._aggregates, collected, strict=True)]
        return self._having is None or bool(self._having(frame))

    def _whole(self, frame: Frame) -> Iterator[tuple[Any, ...]]:
        found = list(self._grouped_rows(frame) if self._grouped else self._plain_rows(frame))
        if self._distinct:
            unique: dict[Any, Any] = {}
            for row in found:
                unique.setdefault(tuple(_key(row[0][place]) for place in self._distinct), row)
            found = list(unique.values())
        if self._sort and len(found) > 1:
            found.sort(key=cmp_to_key(self._compare))
        start = (self._offset(frame) or 0) if self._offset else 0
        limit = self._limit(frame) if self._limit else None
        for row, sources, rows in found[start:]:
            if limit is not None and limit <= 0:
                return
            if self._locks:
                row = self._locked(frame, row, sources, rows)
                if row is None:
                    continue
            if limit is not None:
                limit -= 1
            yield tuple([row[place] for place in self._shown])

    def _plain_rows(self, frame: Frame) -> Iterator[Any]:
        for _ in self._scan(frame):
            row = [target(frame) for target, _ in self._targets]
            yield row, list(frame.sources) if self._locks else (), list(frame.rows) if self._locks else ()

    # Groups

    def _grouped_rows(self, frame: Frame) -> Iterator[Any]:
        if not self._groups:
            if self._aggregated(frame):
                yield [target(frame) for target, _ in self._targets], (), ()
            return
        groups: dict[Any, tuple[list[Any], list[list[Any]]]] = {}
        for _ in self._scan(frame):
            key = tuple(_key(group(frame)) for group in self._groups)
            first, collected = groups.get(key) or groups.setdefault(
                key, (list(frame.rows), [[] for _ in self._aggregates])
            )
            for (collect, _), rows in zip(self._aggregates, collected, strict=True):
                collect(frame, rows)
        for first, collected in groups.values():
            frame.rows = list(first)
            frame.aggregates = [finish(rows) for (_, finish), rows in zip(self._aggregates, collected, strict=True)]
            if self._having is None or self._having(frame):
                yield [target(frame) for target, _ in self._targets], (), ()

    def _aggregate(self, node: TreeNode) -> tuple[Callable[[Frame, list[Any]], None], Callable[[list[Any]], Any]]:
        name = self._compiler.catalog.functions[node.aggfnoid].name
        finish, kind = functions.AGGREGATES[name], node.aggtype
        columns = node.args or []
        arguments = [self._expressions.of(each.expr) for each in columns]
        width = sum(1 for each in columns if not each.resjunk)
        only = self._expressions.of(node.aggfilter) if node.aggfilter else None
        order = [
            (next(place for place, each in enumerate(columns) if each.ressortgroupref == clause.tleSortGroupRef),
             *self._direction(clause))
            for clause in node.aggorder or ()
        ]  # fmt: skip
        types = [type_of(each.expr) for each in columns[:width]]
        as_json = name in ("jsonb_agg", "json_agg", "jsonb_object_agg")

        def collect(frame: Frame, rows: list[Any]) -> None:
            if only is None or only(frame):
                rows.append([argument(frame) for argument in arguments])

        if name == "count" and not columns:
            return collect, len

        def finished(rows: list[Any]) -> Any:
            if node.aggdistinct:
                rows = list({tuple(map(_key, row)): row for row in rows}.values())
            if order:
                rows = sorted(rows, key=cmp_to_key(lambda a, b: _compare(a, b, order)))
            if as_json:
                rows = [[functions.json_of(oid, each) for oid, each in zip(types, row, strict=False)] for row in rows]
            result = finish(kind, [row[:width] for row in rows])
            return 0 if result is None and name == "count" else result

        return collect, finished

    # Order

    def _order(self, clauses: list[TreeNode]) -> list[tuple[int, bool, bool]]:
        return [(self._place(clause), *self._direction(clause)) for clause in clauses]

    def _direction(self, clause: TreeNode) -> tuple[bool, bool]:
        """Whether it goes down, and whether nulls come first."""
        return self._compiler.catalog.operators[clause.sortop].name == ">", clause.nulls_first

    def _place(self, clause: TreeNode) -> int:
        return next(
            place for place, each in enumerate(self._node.targetList) if each.ressortgroupref == clause.tleSortGroupRef
        )

    def _compare(self, one: Any, other: Any) -> int:
        return _compare(one[0], other[0], self._sort)

    def _target(self, entry: TreeNode) -> Expression:
        return self._expressions.of(entry.expr)

    # Locks

    def _lock(self, mark: TreeNode) -> tuple[int, int, int]:
        return mark.rti, STRENGTHS[mark.strength], mark.waitPolicy

    def _locked(self, frame: Frame, row: Any, sources: Any, rows: Any) -> Any:
        """The row as it is once what it is of is locked; None when it is skipped, or is none of these any more."""
        changed = False
        for number, strength, policy in self._locks:
            source = sources[number]
            if source is None or self._node.rtable[number - 1].rtekind != RELATION:
                continue
            found = frame.execution.lock(source, strength, policy, rows[number])
            if found is None:
                return None
            changed |= found is not rows[number]
            rows[number] = found
        if not changed:
            return row
        return self._again(frame, sources, rows)

    def _again(self, frame: Frame, sources: Any, rows: Any) -> Any:
        """The conditions once more, on what somebody else has made of the locked rows meanwhile."""
        frame.rows, frame.sources = list(rows), list(sources)
        tree = self._node.jointree
        test = self._compiler.recheck(self._node, tree, self._expressions)
        return [target(frame) for target, _ in self._targets] if test(frame) else None

    # Unions

    def _union(self) -> Callable[[Frame], Iterator[tuple[Any, ...]]]:
        self._sort = self._order(self._node.sortClause or [])
        self._limit = self._expressions.of(self._node.limitCount) if self._node.limitCount else None
        parts = self._members(self._node.setOperations)

        def rows(frame: Frame) -> Iterator[tuple[Any, ...]]:
            found = parts(frame)
            if self._sort:
                found.sort(key=cmp_to_key(lambda a, b: _compare(a, b, self._sort)))
            limit = self._limit(frame) if self._limit else None
            yield from found[:limit]

        return rows

    def _members(self, tree: TreeNode) -> Callable[[Frame], list[tuple[Any, ...]]]:
        if tree.kind == "RANGETBLREF":
            entry = self._node.rtable[tree.rtindex - 1]
            assert entry.rtekind == SUBQUERY
            query = self._compiler.query(entry.subquery, self._expressions)
            return lambda frame: list(query.rows(frame))
        left, right = self._members(tree.larg), self._members(tree.rarg)
        operation, keep = tree.op, tree.all  # 1: union, 2: intersect, 3: except

        def combined(frame: Frame) -> list[tuple[Any, ...]]:
            one, other = left(frame), right(frame)
            if operation == 1:
                return one + other if keep else list(dict.fromkeys(one + other))
            return list(dict.fromkeys(row for row in one if (row in other) == (operation == 2)))

        return combined


def _key(value: Any) -> Any:
    return repr(value) if isinstance(value, dict | list) else value


def _compare(one: Any, other: Any, order: list[tuple[int, bool, bool]]) -> int:
    for place, down, nulls_first in order:
        a, b = one[place], other[place]
        if a is None or b is None:
            if a is b:
                continue
            return -1 if (a is None) == nulls_first else 1
        if a != b:
            return (-1 if a < b else 1) * (-1 if down else 1)
    return 0
