"""A statement, compiled once for each text, and what one execution of it needs to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import greenlet

from tests.sim.memory.catalog import Analysis, Catalog, TableShape
from tests.sim.memory.errors import SqlError
from tests.sim.memory.expressions import Expression, Expressions, Frame
from tests.sim.memory.queries import NO_WAIT, SKIP_LOCKED, Query
from tests.sim.memory.relations import From
from tests.sim.memory.routines import SPECIAL
from tests.sim.memory.storage import Store, StoredRow, StoredTable, Transaction, Values
from tests.sim.memory.trees import TreeNode, walk
from tests.sim.memory.writes import Delete, Insert, Rules, Update

SELECT, UPDATE, INSERT, DELETE = 1, 2, 3, 4
WRITES = {UPDATE: Update, INSERT: Insert, DELETE: Delete}
VERBS = {SELECT: "SELECT", UPDATE: "UPDATE", INSERT: "INSERT", DELETE: "DELETE"}


class Execution:
    """One execution of a statement: what it sees, and in which transaction it writes."""

    __slots__ = (
        "after", "catalog", "engine", "multiple", "now", "parameters", "snapshot", "statement", "store", "transaction",
    )  # fmt: skip

    def __init__(self, engine: Engine, transaction: Transaction, parameters: Any, now: int) -> None:
        self.engine = engine
        self.store = engine.store
        self.transaction = transaction
        self.parameters = parameters
        self.now = now
        transaction.statement += 1
        self.statement = transaction.statement
        self.snapshot = engine.store.commits
        self.multiple: dict[int, Any] = {}
        self.after: list[Callable[[], None]] = []  # checks and triggers, which come once all is written

    def finish(self) -> None:
        for work in self.after:
            work()
        self.after.clear()

    def run(self, sql: str, *parameters: Any) -> list[Any]:
        """A statement inside of this one, which sees what it has done."""
        return self.engine.execute(self.engine.compile(sql), self.transaction, parameters, self.now)

    def wait_for(self, other: Transaction) -> None:
        """Until the other transaction is over."""
        self.store.waiting += 1
        try:
            while not other.over:
                greenlet.getcurrent().parent.switch(other)
        finally:
            self.store.waiting -= 1

    def lock(self, row: StoredRow, mode: int, policy: int = 0, seen: Values | None = None) -> Values | None:
        """Locks a row, and what it is by then; None when it is gone, or is to be skipped."""
        by = self.transaction
        while other := row.conflicting(by, mode):
            if policy == SKIP_LOCKED:
                return None
            if policy == NO_WAIT:
                raise SqlError("55P03", "could not obtain lock on row")
            self.wait_for(other)
        latest = row.latest(by)
        if latest is not None:
            row.lock(by, mode)
        return latest

    def lock_advisory(self, key: Any) -> None:
        while (other := self.store.advisory.get(key)) and other is not self.transaction:
            self.wait_for(other)
        self.store.advisory[key] = self.transaction
        self.transaction.advisory.append(key)


class Statement:
    """`run` gives its rows. `tables`: those that it reads or writes."""

    def __init__(self, catalog: Catalog, shapes: dict[int, TableShape], analysis: Analysis, rules: Rules) -> None:
        self.analysis = analysis
        node = analysis.query
        assert node is not None
        self.verb = VERBS[node.commandType]
        compiler = Compiler(catalog, shapes, rules)
        self._query = compiler.query(node, None)
        self._late = [cte.ctename for cte in reversed(node.cteList or ()) if cte.ctequery.commandType != SELECT]
        self.tables = compiler.tables
        queries = [each for each in walk(node) if each.kind == "QUERY"]
        self.writes = any(each.commandType != SELECT for each in queries)
        self.locks = any(each.rowMarks for each in queries)

    def run(self, execution: Execution) -> list[Any]:
        root = Frame(execution, 0, None)
        rows, frame = self._query.run(root)
        for name in self._late:
            frame.ctes[name].rows()
        execution.finish()
        return rows  # type: ignore[no-any-return]


class Compiler:
    """What the parts of one statement share."""

    def __init__(self, catalog: Catalog, shapes: dict[int, TableShape], rules: Rules) -> None:
        self.catalog = catalog
        self.shapes = shapes
        self.rules = rules
        self.tables: set[int] = set()
        self._rechecks: dict[int, Expression] = {}

    def query(self, node: TreeNode, up: Expressions | None) -> Any:
        if node.commandType == SELECT:
            return Query(self, node, up)
        return WRITES[node.commandType](self, node, up)

    def ctes(self, node: TreeNode, expressions: Expressions) -> list[tuple[str, Any]]:
        return [(cte.ctename, self.query(cte.ctequery, expressions)) for cte in node.cteList or ()]

    def special(self, name: str) -> Callable[..., Any] | None:
        """A function that has to do with the server's state."""
        return SPECIAL.get(name)

    def reads(self, table: int) -> None:
        self.tables.add(table)

    def recheck(self, node: TreeNode, tree: TreeNode, expressions: Expressions) -> Expression:
        """Whether rows that are bound already meet all conditions of inner joins and WHERE."""
        if id(node) not in self._rechecks:
            _, conditions = From(self, node, expressions)._flatten(tree)
            tests = expressions.all(conditions)
            self._rechecks[id(node)] = lambda frame: all(test(frame) for test in tests)
        return self._rechecks[id(node)]


class Engine:
    """The store, with the statements that were compiled for it. `newer`: it has a newer version's column."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.store = Store()
        self.newer = False
        self._shapes = {newer: catalog.tables(newer=newer) for newer in (False, True)}
        self._rules = {newer: Rules(self.catalog, self._shapes[newer]) for newer in (False, True)}
        self._statements: dict[tuple[str, bool], Statement] = {}
        for oid, shape in self._shapes[False].items():
            self.store.tables[oid] = StoredTable(shape)
        self.tables = {table.shape.name: table for table in self.store.tables.values()}
        self.restart_sequences()

    def restart_sequences(self) -> None:
        self.store.sequences = dict(self.catalog.sequences)

    def compile(self, sql: str) -> Statement:
        known = self._statements.get((sql, self.newer))
        if known is None:
            analysis = self.catalog.analyse(sql, newer=self.newer)
            known = Statement(self.catalog, self._shapes[self.newer], analysis, self._rules[self.newer])
            self._statements[sql, self.newer] = known
        return known

    def execute(self, statement: Statement, transaction: Transaction, parameters: Any, now: int) -> list[Any]:
        execution = Execution(self, transaction, parameters, now)
        self.use(statement, execution)
        execution.snapshot = self.store.commits
        return statement.run(execution)

    def use(self, statement: Statement, execution: Execution) -> None:
        """Keeps the statement's tables as they are until the transaction ends; a change under way is waited for."""
        transaction = execution.transaction
        for oid in statement.tables:
            table = self.store.tables[oid]
            while table.exclusive and table.exclusive is not transaction and table not in transaction.tables:
                execution.wait_for(table.exclusive)
            transaction.tables.add(table)

    def add_newer_column(self, execution: Execution) -> None:
        """Once nobody else uses the table; whoever comes meanwhile waits behind."""
        table = self.tables["run"]
        table.exclusive = execution.transaction
        execution.transaction.tables.add(table)
        while others := self._others(table, execution.transaction):
            execution.wait_for(others[0])
        if not self.newer:
            self._change(table, newer=True)

    def _others(self, table: StoredTable, transaction: Transaction) -> list[Transaction]:
        return [each for each in self.open if each is not transaction and table in each.tables and not each.over]

    @property
    def open(self) -> list[Transaction]:
        return self._open()

    _open: Callable[[], list[Transaction]] = staticmethod(list)

    def forget_newer_column(self) -> None:
        if self.newer:
            self._change(self.tables["run"], newer=False)

    def _change(self, table: StoredTable, *, newer: bool) -> None:
        self.newer = newer
        self.store.history.clear()  # a replica that has the column has all that was committed before it
        table.shape = self._shapes[newer][table.shape.oid]
        width = len(table.shape.columns)
        for row in table.rows:
            for version in row.versions:
                if version.values is not None:
                    version.values = (*version.values, None)[:width]
