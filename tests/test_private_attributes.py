"""The private attributes of other packages that we use: each is listed here with the reason."""

import ast
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import pytest

from tests.syntax import statements

PACKAGE = Path(__file__).parent.parent / "bookgen"

# Documented by their packages in spite of the underscore.
DOCUMENTED = {
    ("http/books_schemas.py", "_deserialize"): "marshmallow: the method that a custom field overrides",
    ("http/exports_schemas.py", "_deserialize"): "marshmallow: the method that a custom field overrides",
    ("http/edge/schemas.py", "_deserialize"): "marshmallow: the method that a custom field overrides",
    ("rate_limits.py", "_value_"): "enum: the value of a member that __new__ makes",
    ("http/edge/watchdog.py", "_current_frames"): "Python: the stacks of all threads",
    ("render/layout/line_breaking.py", "_replace"): "Python: a named tuple with other values",
    ("store/postgres/postmaster.py", "_exit"): "Python: how a forked child ends",
}
# Needed for limits against hostile connections. Nothing at present: aiohttp's public methods are enough.
BOUNDS: dict[tuple[str, str], str] = {}


def test_each_use_of_another_packages_private_attribute_is_listed_with_its_reason() -> None:
    found = {(str(file.relative_to(PACKAGE)), name) for file in PACKAGE.rglob("*.py") for name in foreign_in(file)}
    for known in (_names_of, _defined):
        known.cache_clear()  # whole syntax trees, which garbage collection would traverse in every later test

    assert found == DOCUMENTED.keys() | BOUNDS.keys()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import lib\nlib.open()._socket.close()", ["_socket"]),
        ("import lib\ngetattr(lib, '_socket')", ["_socket"]),
        ("from lib import _socket", ["_socket"]),
        ("import lib\nclass A(lib.A):\n    def _open(self):\n        super()._open()", ["_open"]),
        ("import lib\nclass A(lib.A):\n    def use(self):\n        return self._socket", ["_socket"]),
        ("class A:\n    def __init__(self, other):\n        self._socket = other._socket", []),
        ("class A:\n    def _open(self): ...\nclass B(A):\n    def _open(self):\n        super()._open()", []),
        ("_socket = 1\ndef f(a):\n    return a.__class__", []),
    ],
)
def test_a_private_attribute_is_reported_unless_it_is_our_own(tmp_path: Path, source: str, names: list[str]) -> None:
    file = tmp_path / "some.py"
    file.write_text(source)

    assert list(foreign_in(file)) == names


def foreign_in(file: Path) -> Iterator[str]:
    """The private names that a file uses from packages other than `bookgen`."""
    tree = ast.parse(file.read_text())
    yield from _foreign(tree, None, Names(tree))


class Names:
    """What a module defines, and our classes that it can name."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._known: dict[ast.ClassDef, frozenset[str]] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._imported: dict[str, str] = {}
        for node in statements(tree):
            match node:
                case ast.ClassDef(name=name):
                    self._classes[name] = node
                case ast.ImportFrom(module=str(module), names=names) if module.startswith("bookgen."):
                    self._imported |= {alias.asname or alias.name: module for alias in names}

    @cached_property
    def defined(self) -> frozenset[str]:
        return _defined(self._tree)

    def inherited(self, node: ast.ClassDef) -> frozenset[str]:
        """The names inherited from those bases of a class that are ours."""
        if node not in self._known:
            self._known[node] = frozenset(self._inherited(node))
        return self._known[node]

    def _inherited(self, node: ast.ClassDef) -> Iterator[str]:
        for base in node.bases:
            name = ast.unparse(base).partition("[")[0]
            if name in self._imported:
                yield from _names_of(self._imported[name]).of_class(name)
            elif name in self._classes and name != node.name:
                yield from self.of_class(name)

    def of_class(self, name: str) -> Iterator[str]:
        yield from _defined(self._classes[name])
        yield from self.inherited(self._classes[name])


@cache
def _names_of(module: str) -> Names:
    path = PACKAGE.parent.joinpath(*module.split("."))
    return Names(ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()))


@cache
def _defined(tree: ast.AST) -> frozenset[str]:
    return frozenset(_definitions(tree))


def _definitions(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def _foreign(node: ast.AST, inside: ast.ClassDef | None, names: Names) -> Iterator[str]:
    """The private names of other packages below a node inside the class `inside`."""
    match node:
        case ast.ClassDef():
            inside = node
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name) if _is_private(name) and inside:
            if name not in names.inherited(inside):
                yield name
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if _is_private(name) and inside:
            if name not in _defined(inside) | names.inherited(inside):
                yield name
        case (
            ast.Attribute(attr=name)
            | ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(name)), *_])
        ) if _is_private(name):
            if name not in names.defined:
                yield name
        case ast.ImportFrom(module=str(module), names=aliases) if not module.startswith("bookgen"):
            yield from (alias.name for alias in aliases if _is_private(alias.name))
    for child in ast.iter_child_nodes(node):
        yield from _foreign(child, inside, names)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
