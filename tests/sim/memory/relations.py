"""What a query takes its rows from: tables, functions, other queries, and joins of them, by nested loops.

Each condition is asked as soon as all it looks at is there; a table is looked up by a column that has to equal
something known, where there is such a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tests.sim.memory import functions, values
from tests.sim.memory.expressions import NULLS, Expression, Expressions, Frame, relations_of, up
from tests.sim.memory.storage import StoredRow, StoredTable
from tests.sim.memory.trees import TreeNode

if TYPE_CHECKING:
    from tests.sim.memory.statements import Compiler

INNER, LEFT, FULL, RIGHT = 0, 1, 2, 3  # kinds of joins
RELATION, SUBQUERY, JOIN, FUNCTION, VALUES, CTE, RESULT = 0, 1, 2, 3, 5, 6, 8
Scan = Callable[[Frame], Iterator[None]]  # puts one row after the other into the frame


class From:
    """Compiles what stands after FROM, with the conditions of WHERE."""

    def __init__(self, compiler: Compiler, query: TreeNode, expressions: Expressions) -> None:
        self._compiler = compiler
        self._query = query
        self._expressions = expressions

    def scan(self, tree: TreeNode, *, target: int = 0) -> Scan:
        """`target`: the relation that is written to, which a join that is not of the tree's own adds."""
        items, conditions = self._flatten(tree)
        if target and not any(item == target for item in items):
            items.insert(0, target)
        return self._chain(items, conditions, set())

    def _flatten(self, tree: TreeNode) -> tuple[list[Any], list[TreeNode]]:
        """Relations and outer joins that are joined with each other, and all conditions on them."""
        if tree.kind == "RANGETBLREF":
            return [tree.rtindex], []
        if tree.kind == "JOINEXPR" and tree.jointype != INNER:
            return [tree], []
        parts = (tree.fromlist or []) if tree.kind == "FROMEXPR" else [tree.larg, tree.rarg]
        items: list[Any] = []
        conditions = _conjuncts(tree.quals)
        for part in parts:
            more, others = self._flatten(part)
            items += more
            conditions += others
        return items, conditions

    def _chain(self, items: list[Any], conditions: list[TreeNode], bound: set[int]) -> Scan:
        """One after the other, those first that can be looked up."""
        bound, left, steps = set(bound), list(items), list[Scan]()
        waiting = [(condition, relations_of(condition)) for condition in conditions]
        first = [self._expressions.of(condition) for condition, needs in waiting if not needs - bound]
        waiting = [(condition, needs) for condition, needs in waiting if needs - bound]
        while left:
            item = min(left, key=lambda each: (self._effort(each, waiting, bound, left), left.index(each)))
            left.remove(item)
            now = bound | _numbers_in(item)
            ready = [condition for condition, needs in waiting if not needs - now]
            waiting = [(condition, needs) for condition, needs in waiting if needs - now]
            steps.append(self._step(item, ready, bound))
            bound = now
        if not steps:
            steps.append(_once)
        return _nested(first, steps)

    def _effort(self, item: Any, waiting: list[tuple[TreeNode, set[int]]], bound: set[int], left: list[Any]) -> int:
        needs = relations_of(self._query.rtable[item - 1]) if isinstance(item, int) else relations_of(item)
        if (needs - _numbers_in(item)) & {number for each in left for number in _numbers_in(each)}:
            return 9
        if not isinstance(item, int):
            return 3
        if self._query.rtable[item - 1].rtekind != RELATION:
            return 1
        ready = [condition for condition, numbers in waiting if not numbers - bound - {item}]
        return 0 if self._lookup(item, ready, bound) else 4

    def _step(self, item: Any, conditions: list[TreeNode], bound: set[int]) -> Scan:
        if isinstance(item, int):
            return self._relation(item, conditions, bound)
        return _filtered(self._outer(item, bound), self._expressions.all(conditions))

    def _relation(self, number: int, conditions: list[TreeNode], bound: set[int]) -> Scan:
        entry = self._query.rtable[number - 1]
        if entry.rtekind == RELATION:
            lookup = self._lookup(number, conditions, bound)
            others = [condition for condition in conditions if lookup is None or condition is not lookup[0]]
            return self._table(number, entry, lookup, self._expressions.all(others))
        tests = self._expressions.all(conditions)
        return _filtered(_from_rows(number, self._rows_of(entry)), tests)

    def _rows_of(self, entry: TreeNode) -> Callable[[Frame], Any]:
        match entry.rtekind:
            case 1:
                query = self._compiler.query(entry.subquery, self._expressions)
                return query.rows  # type: ignore[no-any-return]
            case 3:
                return self._function(entry)
            case 5:
                lists = [self._expressions.all(each) for each in entry.values_lists]
                return lambda frame: [tuple(each(frame) for each in row) for row in lists]
            case 6:
                name, level = entry.ctename, entry.ctelevelsup
                return lambda frame: up(frame, level).ctes[name].rows()
            case 8:
                return lambda _frame: [()]
        raise NotImplementedError(f"rows of kind {entry.rtekind}")

    def _function(self, entry: TreeNode) -> Callable[[Frame], Any]:
        calls = [each.funcexpr for each in entry.functions]
        found = [self._set(call) for call in calls]
        if len(found) == 1 and not entry.funcordinality:
            return found[0]

        def side_by_side(frame: Frame) -> Any:
            columns = [list(each(frame)) for each in found]
            for place in range(max(map(len, columns))):
                row: tuple[Any, ...] = ()
                for column in columns:
                    row += column[place] if place < len(column) else (None,)
                yield (*row, place + 1) if entry.funcordinality else row

        return side_by_side

    def _set(self, call: TreeNode) -> Callable[[Frame], Any]:
        function = self._compiler.catalog.functions[call.funcid]
        arguments = self._expressions.all(call.args)
        if special := self._compiler.special(function.name):
            return lambda frame: [special(frame.execution, *[each(frame) for each in arguments])]
        if function.name in functions.SETS:
            make = functions.SETS[function.name]

            def members(frame: Frame) -> Any:
                known = [each(frame) for each in arguments]
                return [] if None in known else make(*known)

            return members
        only = self._expressions.of(call)
        return lambda frame: [(only(frame),)]

    # Tables

    def _lookup(
        self, number: int, conditions: list[TreeNode], bound: set[int]
    ) -> tuple[TreeNode, int, TreeNode, bool] | None:
        """The condition, the column, what it has to equal, and whether it is any of a list."""
        for condition in conditions:
            if condition.kind == "OPEXPR" and len(condition.args) == 2:
                operator = self._compiler.catalog.operators[condition.opno]
                if operator.name != "=" or values.JSONB in (operator.left, operator.right):
                    continue
                for side, other in (condition.args, condition.args[::-1]):
                    if _is_column(side, number) and not relations_of(other) - bound:
                        return condition, side.varattno - 1, other, False
            if condition.kind == "SCALARARRAYOPEXPR" and condition.useOr:
                operator = self._compiler.catalog.operators[condition.opno]
                side, other = condition.args
                if operator.name == "=" and _is_column(side, number) and not relations_of(other) - bound:
                    return condition, side.varattno - 1, other, True
        return None

    def _table(
        self, number: int, entry: TreeNode, lookup: tuple[TreeNode, int, TreeNode, bool] | None, tests: list[Expression]
    ) -> Scan:
        oid = entry.relid
        self._compiler.reads(oid)
        candidates = self._candidates(oid, lookup)

        def scan(frame: Frame) -> Iterator[None]:
            execution = frame.execution
            snapshot, by, statement = execution.snapshot, execution.transaction, execution.statement
            for row in candidates(execution.store.tables[oid], frame):
                seen = row.seen(snapshot, by, statement)
                if seen is None:
                    continue
                frame.rows[number] = seen
                frame.sources[number] = row
                for test in tests:
                    if not test(frame):
                        break
                else:
                    yield

        return scan

    def _candidates(
        self, oid: int, lookup: tuple[TreeNode, int, TreeNode, bool] | None
    ) -> Callable[[StoredTable, Frame], Any]:
        if lookup is None:
            return lambda table, _frame: tuple(table.rows)
        _, column, other, several = lookup
        wanted = self._expressions.of(other)
        # An older version may have had the value, and the row another by now: it is asked again.
        if several:

            def any_of(table: StoredTable, frame: Frame) -> Iterator[StoredRow]:
                for value in dict.fromkeys(wanted(frame) or ()):
                    yield from _having(table, column, value, frame)

            return any_of
        return lambda table, frame: _having(table, column, wanted(frame), frame)

    # Outer joins

    def _outer(self, join: TreeNode, bound: set[int]) -> Scan:
        if join.jointype == FULL:
            return self._full(join, bound)
        one, other = (join.larg, join.rarg) if join.jointype == LEFT else (join.rarg, join.larg)
        items, conditions = self._flatten(one)
        outer = self._chain(items, conditions, bound)
        known = bound | set[int]().union(*map(_numbers_in, items))
        items, conditions = self._flatten(other)
        inner = self._chain(items, conditions + _conjuncts(join.quals), known)
        numbers = sorted(set[int]().union(*map(_numbers_in, items)))

        def scan(frame: Frame) -> Iterator[None]:
            for _ in outer(frame):
                found = False
                for _ in inner(frame):
                    found = True
                    yield
                if not found:
                    _nothing(frame, numbers)
                    yield

        return scan

    def _full(self, join: TreeNode, bound: set[int]) -> Scan:
        left, right = self._chain(*self._flatten(join.larg), bound), self._chain(*self._flatten(join.rarg), bound)
        of_left = sorted(set[int]().union(*map(_numbers_in, self._flatten(join.larg)[0])))
        of_right = sorted(set[int]().union(*map(_numbers_in, self._flatten(join.rarg)[0])))
        tests = self._expressions.all(_conjuncts(join.quals))

        def scan(frame: Frame) -> Iterator[None]:
            others = [[frame.rows[number] for number in of_right] for _ in right(frame)]
            partners: set[int] = set()
            for _ in left(frame):
                found = False
                for place, rows in enumerate(others):
                    for number, row in zip(of_right, rows, strict=True):
                        frame.rows[number] = row
                    if all(test(frame) for test in tests):
                        partners.add(place)
                        found = True
                        yield
                if not found:
                    _nothing(frame, of_right)
                    yield
            _nothing(frame, of_left)
            for place, rows in enumerate(others):
                if place not in partners:
                    for number, row in zip(of_right, rows, strict=True):
                        frame.rows[number] = row
                    yield

        return scan


def _having(table: StoredTable, column: int, value: Any, frame: Frame) -> list[StoredRow]:
    if value is None:
        return []
    execution = frame.execution
    snapshot, by, statement = execution.snapshot, execution.transaction, execution.statement
    return [
        row for row in table.having(column, value)
        if (len(row.versions) == 1 and row.versions[0].by is None)  # the only one is the one that has the value
        or ((seen := row.seen(snapshot, by, statement)) is not None and seen[column] == value)
    ]  # fmt: skip


def _nothing(frame: Frame, numbers: list[int]) -> None:
    for number in numbers:
        frame.rows[number] = NULLS
        frame.sources[number] = None


def _once(_frame: Frame) -> Iterator[None]:
    yield


def _nested(first: list[Expression], steps: list[Scan]) -> Scan:
    *outer, chain = steps
    for step in reversed(outer):
        chain = _inside(step, chain)
    if not first:
        return chain

    def scan(frame: Frame) -> Iterator[None]:
        for test in first:
            if not test(frame):
                return
        yield from chain(frame)

    return scan


def _inside(outer: Scan, inner: Scan) -> Scan:
    def scan(frame: Frame) -> Iterator[None]:
        for _ in outer(frame):
            yield from inner(frame)

    return scan


def _filtered(scan: Scan, tests: list[Expression]) -> Scan:
    if not tests:
        return scan

    def filtered(frame: Frame) -> Iterator[None]:
        for _ in scan(frame):
            if all(test(frame) for test in tests):
                yield

    return filtered


def _from_rows(number: int, rows: Callable[[Frame], Any]) -> Scan:
    def scan(frame: Frame) -> Iterator[None]:
        for row in rows(frame):
            frame.rows[number] = row
            yield

    return scan


def _conjuncts(quals: Any) -> list[TreeNode]:
    if quals is None:
        return []
    if isinstance(quals, list):
        return [each for part in quals for each in _conjuncts(part)]
    if quals.kind == "BOOLEXPR" and quals.boolop == "and":
        return [each for part in quals.args for each in _conjuncts(part)]
    return [quals]


def _numbers_in(item: Any) -> set[int]:
    """The relations that an item of FROM brings, the joins' own numbers among them."""
    if isinstance(item, int):
        return {item}
    if item.kind == "RANGETBLREF":
        return {item.rtindex}
    if item.kind == "JOINEXPR":
        return _numbers_in(item.larg) | _numbers_in(item.rarg) | {item.rtindex}
    return set[int]().union(*(_numbers_in(each) for each in item.fromlist or ()))


def _is_column(node: TreeNode, number: int) -> bool:
    while node.kind == "RELABELTYPE":
        node = node.arg
    return node.kind == "VAR" and node.varlevelsup == 0 and node.varno == number and node.varattno > 0
