"""Expressions of a statement, made into functions of the rows that it looks at.

Null is None, and what PostgreSQL calls strict is null for a null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.sim.memory import functions, values
from tests.sim.memory.errors import SqlError
from tests.sim.memory.trees import TreeNode, walk

if TYPE_CHECKING:
    from tests.sim.memory.statements import Compiler, Execution

EXTERN, SUBLINK, MULTI = 0, 2, 3  # kinds of parameters


NO_CTES: Mapping[str, Any] = {}


class Frame:
    """The rows of a query's relations, by their numbers, and the frame of the query around it."""

    __slots__ = ("aggregates", "ctes", "execution", "rows", "sources", "tested", "up")

    def __init__(self, execution: Execution, size: int, up: Frame | None) -> None:
        self.execution = execution
        self.up = up
        self.rows: list[Any] = [None] * size
        self.sources: list[Any] = [None] * size  # the stored row that a relation's is of
        self.aggregates: Sequence[Any] = ()
        self.tested: Any = None  # of a CASE, or of a sublink
        self.ctes: Mapping[str, Any] = NO_CTES  # of WITH, by their names


Expression: TypeAlias = Callable[[Frame], Any]


class Nulls:
    """A row of an outer join that has found no partner."""

    def __getitem__(self, _column: int) -> None:
        return None


NULLS = Nulls()


class Expressions:
    """Of one query. `aggregates` are those that its expressions ask for."""

    def __init__(self, compiler: Compiler, query: TreeNode | None, up: Expressions | None) -> None:
        self.compiler = compiler
        self.query = query
        self.up = up
        self.aggregates: list[Any] = []

    def of(self, node: Any) -> Expression:
        return getattr(self, "_" + node.kind.lower())(node)  # type: ignore[no-any-return]

    def all(self, nodes: list[TreeNode] | None) -> list[Expression]:
        return [self.of(node) for node in nodes or ()]

    # What there is already

    def _var(self, node: TreeNode) -> Expression:
        number, column, level = node.varno, node.varattno - 1, node.varlevelsup
        owner: Expressions = self
        for _ in range(level):
            assert owner.up is not None
            owner = owner.up
        if owner.query is not None and number <= len(owner.query.rtable):
            relation = owner.query.rtable[number - 1]
            if relation.rtekind == 2:  # a join's: where USING has merged two
                inner = owner.of(relation.joinaliasvars[column])
                return _at_level(inner, level)
            if relation.rtekind == 9:  # a group's
                return _at_level(owner.of(relation.groupexprs[column]), level)
        if column < 0:
            return lambda frame: up(frame, level).rows[number]
        if level == 0:
            return lambda frame: frame.rows[number][column]
        if level == 1:
            return lambda frame: frame.up.rows[number][column]  # type: ignore[union-attr]
        return lambda frame: up(frame, level).rows[number][column]

    def _const(self, node: TreeNode) -> Expression:
        value = None if node.constisnull else values.constant(node.consttype, node.constvalue)
        return lambda _frame: value

    def _param(self, node: TreeNode) -> Expression:
        number = node.paramid
        if node.paramkind == EXTERN:
            return lambda frame: frame.execution.parameters[number - 1]
        if node.paramkind == SUBLINK:
            return lambda frame: frame.tested[number - 1]
        query, column = number >> 16, (number & 0xFFFF) - 1
        return lambda frame: frame.execution.multiple[query][column]

    def _settodefault(self, _node: TreeNode) -> Expression:
        return lambda _frame: values  # never asked: whoever writes looks for it first

    # Operators and functions

    def _opexpr(self, node: TreeNode) -> Expression:
        found = self.compiler.catalog.operators[node.opno]
        if len(node.args) == 1:
            only = self.of(node.args[0])
            return lambda frame: None if (value := only(frame)) is None else -value
        left, right = self.all(node.args)
        combine = functions.binary(found.name, *map(type_of, node.args))
        if node.args[1].kind == "CONST" and not node.args[1].constisnull:
            value = values.constant(node.args[1].consttype, node.args[1].constvalue)
            return lambda frame: None if (a := left(frame)) is None else combine(a, value)

        def calculate(frame: Frame) -> Any:
            a = left(frame)
            if a is None:
                return None
            b = right(frame)
            return None if b is None else combine(a, b)

        return calculate

    def _distinctexpr(self, node: TreeNode) -> Expression:
        left, right = self.all(node.args)

        def differ(frame: Frame) -> bool:
            a, b = left(frame), right(frame)
            return (a is None) != (b is None) or (a is not None and a != b)

        return differ

    def _nullifexpr(self, node: TreeNode) -> Expression:
        left, right = self.all(node.args)
        return lambda frame: None if (value := left(frame)) == right(frame) else value

    def _scalararrayopexpr(self, node: TreeNode) -> Expression:
        found = self.compiler.catalog.operators[node.opno]
        left, right = self.all(node.args)
        combine, some = functions.binary(found.name, found.left, found.left), node.useOr
        equal = found.name == "=" and some

        def search(frame: Frame) -> bool | None:
            value, items = left(frame), right(frame)
            if items is None or (value is None and items):
                return None
            if equal:
                return True if value in items else None if None in items else False
            results = [None if item is None else combine(value, item) for item in items]
            if bool(some) in results:
                return bool(some)
            return None if None in results else not some

        return search

    def _funcexpr(self, node: TreeNode) -> Expression:
        function = self.compiler.catalog.functions[node.funcid]
        arguments = self.all(node.args)
        types = [type_of(each) for each in node.args or ()]
        name = function.name
        if special := self.compiler.special(name):
            return lambda frame: special(frame.execution, *[each(frame) for each in arguments])
        if name in functions.FUNCTIONS:
            return _calling(functions.FUNCTIONS[name], types, arguments, strict=function.strict)
        if len(arguments) in (1, 2, 3):  # a cast is a function that is called like its type
            convert, only = functions.cast(types[0], node.funcresulttype), arguments[0]
            if node.funcformat in (1, 2):
                return lambda frame: None if (value := only(frame)) is None else convert(value)
        raise NotImplementedError(f"the function {name}")

    def _relabeltype(self, node: TreeNode) -> Expression:
        return self.of(node.arg)

    def _coerceviaio(self, node: TreeNode) -> Expression:
        only, convert = self.of(node.arg), functions.through_text(type_of(node.arg), node.resulttype)
        return lambda frame: None if (value := only(frame)) is None else convert(value)

    def _arraycoerceexpr(self, node: TreeNode) -> Expression:
        only, each = self.of(node.arg), self.of(node.elemexpr)

        def convert(frame: Frame) -> Any:
            items = only(frame)
            if items is None:
                return None
            before, found = frame.tested, []
            for frame.tested in items:
                found.append(each(frame))
            frame.tested = before
            return found

        return convert

    # Conditions

    def _boolexpr(self, node: TreeNode) -> Expression:
        parts = self.all(node.args)
        if node.boolop == "not":
            (only,) = parts
            return lambda frame: None if (value := only(frame)) is None else not value
        return _all_of(parts) if node.boolop == "and" else _any_of(parts)

    def _nulltest(self, node: TreeNode) -> Expression:
        only = self.of(node.arg)
        if node.nulltesttype == 0:
            return lambda frame: only(frame) is None
        return lambda frame: only(frame) is not None

    def _booleantest(self, node: TreeNode) -> Expression:
        only = self.of(node.arg)
        wanted, negated = [(True, False), (True, True), (False, False), (False, True), (None, False), (None, True)][
            node.booltesttype
        ]
        return lambda frame: (only(frame) is wanted) != negated

    def _caseexpr(self, node: TreeNode) -> Expression:
        tested = self.of(node.arg) if node.arg else None
        cases = [(self.of(each.expr), self.of(each.result)) for each in node.args]
        otherwise = self.of(node.defresult) if node.defresult else lambda _frame: None

        def choose(frame: Frame) -> Any:
            if tested:
                frame.tested = tested(frame)
            for condition, result in cases:
                if condition(frame):
                    return result(frame)
            return otherwise(frame)

        return choose

    def _casetestexpr(self, _node: TreeNode) -> Expression:
        return lambda frame: frame.tested

    def _coalesceexpr(self, node: TreeNode) -> Expression:
        parts = self.all(node.args)

        def first(frame: Frame) -> Any:
            for part in parts:
                if (value := part(frame)) is not None:
                    return value
            return None

        return first

    def _minmaxexpr(self, node: TreeNode) -> Expression:
        parts, best = self.all(node.args), max if node.op == 0 else min
        return lambda frame: best((v for part in parts if (v := part(frame)) is not None), default=None)

    # Lists and rows

    def _arrayexpr(self, node: TreeNode) -> Expression:
        parts = self.all(node.elements)
        return lambda frame: [part(frame) for part in parts]

    def _rowexpr(self, node: TreeNode) -> Expression:
        parts = self.all(node.args)
        return lambda frame: tuple(part(frame) for part in parts)

    def _subscriptingref(self, node: TreeNode) -> Expression:
        items, (place,) = self.of(node.refexpr), self.all(node.refupperindexpr)

        def pick(frame: Frame) -> Any:
            found, at = items(frame), place(frame)
            return None if found is None or at is None or not 1 <= at <= len(found) else found[at - 1]

        return pick

    def _fieldselect(self, node: TreeNode) -> Expression:
        whole, column = self.of(node.arg), node.fieldnum - 1
        return lambda frame: None if (row := whole(frame)) is None else row[column]

    # Queries inside

    def _sublink(self, node: TreeNode) -> Expression:
        query = self.compiler.query(node.subselect, self)
        kind = node.subLinkType
        if kind == 0:
            return lambda frame: next(query.rows(frame), None) is not None
        if kind == 4:
            return lambda frame: _only(query.rows(frame))
        if kind == 6:
            return lambda frame: [row[0] for row in query.rows(frame)]
        if kind == 5:
            number, width = node.subLinkId, len(node.subselect.targetList)

            def keep(frame: Frame) -> None:
                frame.execution.multiple[number] = next(query.rows(frame), (None,) * width)

            return keep
        if kind == 2:
            return self._any_of_query(query, self.of(node.testexpr))
        raise NotImplementedError(f"a sublink of kind {kind}")

    def _any_of_query(self, query: Any, test: Expression) -> Expression:
        def search(frame: Frame) -> bool | None:
            before, unknown = frame.tested, False
            try:
                for row in query.rows(frame):
                    frame.tested = row
                    found = test(frame)
                    if found:
                        return True
                    unknown |= found is None
                return None if unknown else False
            finally:
                frame.tested = before

        return search

    def _aggref(self, node: TreeNode) -> Expression:
        if node.agglevelsup:
            raise NotImplementedError("an aggregate of an outer query")
        number = len(self.aggregates)
        self.aggregates.append(node)
        return lambda frame: frame.aggregates[number]


def type_of(node: TreeNode) -> int:
    """The type of an expression."""
    fields = node.fields
    for name in TYPE_FIELDS:
        if name in fields:
            return int(fields[name])
    if node.kind in ("BOOLEXPR", "NULLTEST", "BOOLEANTEST", "SCALARARRAYOPEXPR"):
        return values.BOOL
    if node.kind == "SUBLINK":
        if node.subLinkType == 4:
            return type_of(node.subselect.targetList[0].expr)
        if node.subLinkType == 6:
            element = type_of(node.subselect.targetList[0].expr)
            return next(array for array, of in values.ELEMENT_OF.items() if of == element)
        return values.BOOL
    raise NotImplementedError(f"the type of {node.kind}")


TYPE_FIELDS = (
    "vartype", "consttype", "paramtype", "opresulttype", "funcresulttype", "resulttype", "casetype", "typeId",
    "coalescetype", "minmaxtype", "array_typeid", "aggtype", "refrestype", "row_typeid", "wintype", "type",
)  # fmt: skip


def relations_of(node: Any, level: int = 0) -> set[int]:
    """The numbers of the relations of the query itself that an expression looks at, also from queries inside it."""
    if isinstance(node, list):
        return set[int]().union(*(relations_of(each, level) for each in node))
    if not isinstance(node, TreeNode):
        return set()
    if node.kind == "VAR":
        return {node.varno} if node.varlevelsup == level else set()
    inner = level + (node.kind == "QUERY")
    return set[int]().union(*(relations_of(each, inner) for each in node.fields.values()))


def is_fixed(node: TreeNode) -> bool:
    """Whether an expression looks at no relation and no query at all."""
    return not any(each.kind in ("VAR", "SUBLINK", "AGGREF") for each in walk(node))


def _calling(
    function: Callable[..., Any], types: list[int], arguments: list[Expression], *, strict: bool
) -> Expression:
    def call(frame: Frame) -> Any:
        found = [each(frame) for each in arguments]
        return None if strict and None in found else function(types, *found)

    return call


def up(frame: Frame, level: int) -> Frame:
    """The frame of the query so many levels around."""
    for _ in range(level):
        assert frame.up is not None
        frame = frame.up
    return frame


def _at_level(inner: Expression, level: int) -> Expression:
    return inner if level == 0 else lambda frame: inner(up(frame, level))


def _all_of(parts: list[Expression]) -> Expression:
    def test(frame: Frame) -> bool | None:
        unknown = False
        for part in parts:
            value = part(frame)
            if value is False:
                return False
            unknown |= value is None
        return None if unknown else True

    return test


def _any_of(parts: list[Expression]) -> Expression:
    def test(frame: Frame) -> bool | None:
        unknown = False
        for part in parts:
            value = part(frame)
            if value:
                return True
            unknown |= value is None
        return None if unknown else False

    return test


def _only(rows: Any) -> Any:
    first = next(rows, None)
    if first is None:
        return None
    if next(rows, None) is not None:
        raise SqlError("21000", "more than one row returned by a subquery used as an expression")
    return first[0]
