"""What the real server knows of a migrated database, and how it understands a statement.

A statement is described by being prepared, and analysed by being made the body of a function, whose tree the catalogs
show with every name and type resolved. Both are rolled back, and asked once for each text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.sim import wire
from tests.sim.memory import trees
from tests.sim.memory.trees import TreeNode
from tests.sim.nemesis import NEWER_COLUMN
from tests.sim.session import Session

TABLES = """
    SELECT c.oid, c.relname, a.attnum, a.attname, a.atttypid, a.attnotnull, a.attidentity, a.attgenerated,
           d.adbin::text,
           (SELECT s.objid FROM pg_depend s
             WHERE s.refobjid = c.oid AND s.refobjsubid = a.attnum AND s.deptype = 'i'
               AND s.classid = 'pg_class'::regclass)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname IN ('public', 'seen')
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relkind = 'r' ORDER BY c.oid, a.attnum
"""
INDEXES = """
    SELECT i.indrelid, c.relname, i.indkey::text, i.indexprs::text, i.indpred::text, i.indimmediate
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE i.indisunique AND n.nspname IN ('public', 'seen') ORDER BY c.oid
"""
FOREIGN_KEYS = """
    SELECT conname, conrelid, conkey::text, confrelid, confkey::text, confdeltype, condeferred FROM pg_constraint
     WHERE contype = 'f' ORDER BY oid
"""
CHECKS = """
    SELECT conname, conrelid, conbin::text FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0 ORDER BY conname
"""
TRIGGERS = """
    SELECT t.tgrelid, p.proname, t.tgtype, t.tgdeferrable, t.tgattr::text
      FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE NOT t.tgisinternal ORDER BY t.tgname
"""
SEQUENCES = "SELECT seqrelid, seqstart FROM pg_sequence"
FUNCTIONS = "SELECT oid, proname, proisstrict, prorettype, proretset, proargnames::text FROM pg_proc"
OPERATORS = "SELECT oid, oprname, oprleft, oprright, oprresult FROM pg_operator"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: int
    not_null: bool
    identity: str
    generated: str
    default: TreeNode | None
    sequence: int | None


@dataclass(frozen=True, slots=True)
class UniqueIndex:
    """`columns`: numbers of attributes, 0 for the next of `expressions`."""

    name: str
    columns: tuple[int, ...]
    expressions: tuple[TreeNode, ...]
    predicate: list[TreeNode] | TreeNode | None
    immediate: bool


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`on_delete`: a for no action, c for cascade, n for set null."""

    name: str
    table: int
    columns: tuple[int, ...]
    parent: int
    parent_columns: tuple[int, ...]
    on_delete: str
    deferred: bool


@dataclass(frozen=True, slots=True)
class Trigger:
    """`kind`: PostgreSQL's bits: 1 for each row, 2 before, 4 insert, 8 delete, 16 update."""

    function: str
    kind: int
    deferred: bool
    columns: tuple[int, ...]


@dataclass(slots=True)
class TableShape:
    oid: int
    name: str
    columns: list[Column] = field(default_factory=list)
    unique: list[UniqueIndex] = field(default_factory=list)
    checks: list[tuple[str, TreeNode]] = field(default_factory=list)
    keys: list[ForeignKey] = field(default_factory=list)
    referenced: list[ForeignKey] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    strict: bool
    returns: int
    returns_set: bool
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogOperator:
    name: str
    left: int
    right: int
    result: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """`described`: what the server answers when the statement is prepared. `query` is None for what has no tree."""

    described: bytes
    parameters: tuple[int, ...]
    columns: tuple[tuple[str, int], ...]
    query: TreeNode | None


class Catalog:
    """Of one database. `newer` is the same with the column that a newer version adds."""

    def __init__(self, server: Session) -> None:
        self._server = server
        self.functions = {
            int(oid): Function(name, strict == "t", int(returns), of_set == "t", _names(arguments))
            for oid, name, strict, returns, of_set, arguments in self._rows(FUNCTIONS)
        }
        self.operators = {
            int(oid): CatalogOperator(name, int(left), int(right), int(result))
            for oid, name, left, right, result in self._rows(OPERATORS)
        }
        self.sequences = {int(oid): int(start) for oid, start in self._rows(SEQUENCES)}
        self._described: dict[str, Analysis] = {}
        self._analysed: dict[tuple[str, bool], Analysis] = {}

    def tables(self, *, newer: bool = False) -> dict[int, TableShape]:
        self._begin(newer)
        shapes: dict[int, TableShape] = {}
        for oid, name, _, column, kind, not_null, identity, generated, default, sequence in self._rows(TABLES):
            shape = shapes.setdefault(int(oid), TableShape(int(oid), name))
            shape.columns.append(
                Column(column, int(kind), not_null == "t", identity or "", generated or "",
                       trees.parse(default) if default else None, int(sequence) if sequence else None)
            )  # fmt: skip
        for oid, name, columns, expressions, predicate, immediate in self._rows(INDEXES):
            shapes[int(oid)].unique.append(
                UniqueIndex(name, tuple(map(int, columns.split())), tuple(_trees(expressions)),
                            trees.parse(predicate) if predicate else None, immediate == "t")
            )  # fmt: skip
        for name, oid, columns, parent, parent_columns, on_delete, deferred in self._rows(FOREIGN_KEYS):
            key = ForeignKey(
                name, int(oid), _numbers(columns), int(parent), _numbers(parent_columns), on_delete, deferred == "t"
            )
            shapes[key.table].keys.append(key)
            shapes[key.parent].referenced.append(key)
        for name, oid, tree in self._rows(CHECKS):
            if int(oid) in shapes and tree:
                shapes[int(oid)].checks.append((name, trees.parse(tree)))
        for oid, function, kind, deferred, columns in self._rows(TRIGGERS):
            trigger = Trigger(function, int(kind), deferred == "t", tuple(map(int, columns.split())))
            shapes[int(oid)].triggers.append(trigger)
        self._server.ask("ROLLBACK")
        return shapes

    def analyse(self, sql: str, *, newer: bool = False) -> Analysis:
        """PostgresError as its frame when the server does not take the statement."""
        known = self._analysed.get((sql, newer))
        if known is None:
            known = self._analysed[sql, newer] = self._analyse(sql, newer)
        return known

    def known(self, sql: str, *, newer: bool) -> Analysis | None:
        """What was analysed already."""
        return self._analysed.get((sql, newer))

    def describe(self, sql: str) -> Analysis:
        """The same without a tree, for what is no query."""
        known = self._described.get(sql)
        if known is None:
            known = self._described[sql] = self._describe(sql)
        return known

    def _describe(self, sql: str) -> Analysis:
        described = self._ask(
            wire.message(b"P", b"d\0" + sql.encode() + b"\0\0\0") + wire.message(b"D", b"Sd\0") + wire.SYNC
        )
        frames = [frame for frame in wire.frames(described)[0] if frame[:1] in b"1tTn"]
        self._ask(wire.message(b"C", b"Sd\0") + wire.SYNC)
        parameters = _oids(next(frame for frame in frames if frame[:1] == b"t"))
        columns = next((_columns(frame) for frame in frames if frame[:1] == b"T"), ())
        return Analysis(b"".join(frames), parameters, columns, None)

    def _analyse(self, sql: str, newer: bool) -> Analysis:
        self._begin(newer)
        try:
            described = self._describe(sql)
            types = ", ".join(f"p{number} {self._type(oid)}" for number, oid in enumerate(described.parameters, 1))
            body = sql.strip().rstrip(";")
            self._ask(wire.query(f"CREATE FUNCTION pg_temp.analysed({types}) RETURNS void BEGIN ATOMIC {body}; END"))
            (tree,) = self._rows("SELECT prosqlbody::text FROM pg_proc WHERE proname = 'analysed'")
            query = trees.parse(tree[0])
            while isinstance(query, list):
                query = query[0]
            return replace(described, query=query)
        finally:
            self._server.ask("ROLLBACK")

    def _begin(self, newer: bool) -> None:
        self._server.ask("BEGIN")
        if newer:
            self._server.ask(NEWER_COLUMN)

    def _type(self, oid: int) -> str:
        return str(self._rows(f"SELECT {oid}::regtype")[0][0])

    def _ask(self, request: bytes) -> bytes:
        self._server.begin(request)
        answer = self._server.listen()
        if failed := next((frame for frame in wire.frames(answer)[0] if frame[:1] == wire.FAILURE), None):
            raise RefusedStatement(failed)
        return answer

    def _rows(self, sql: str) -> list[list[Any]]:
        answer = self._ask(wire.query(sql))
        return [wire.values(frame) for frame in wire.frames(answer)[0] if frame[:1] == b"D"]


class RefusedStatement(Exception):
    """The server does not take a statement; its error as a frame."""

    def __init__(self, frame: bytes) -> None:
        super().__init__(repr(frame))
        self.frame = frame


def _oids(frame: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(frame[at : at + 4], "big") for at in range(7, len(frame), 4))


def _columns(frame: bytes) -> tuple[tuple[str, int], ...]:
    """Name and type of each column in a RowDescription."""
    at, found = 7, []
    while at < len(frame):
        end = frame.index(b"\0", at)
        found.append((frame[at:end].decode(), int.from_bytes(frame[end + 7 : end + 11], "big")))
        at = end + 19
    return tuple(found)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.strip("{}").split(",") if each)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(text.strip("{}").split(",")) if text else ()


def _trees(text: str | None) -> list[TreeNode]:
    found = trees.parse(text) if text else []
    return found if isinstance(found, list) else [found]
