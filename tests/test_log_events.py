"""The events in the log: every error says in `to_do` what an operator can do about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import bookgen

PACKAGE = Path(bookgen.__file__).parent
ERRORS = frozenset({"error", "exception", "critical"})
LEVELS = ERRORS | {"debug", "info", "warning"}
LOGGERS = frozenset({"get_logger", "getLogger"})


def loggers(tree: ast.Module) -> set[str]:
    """The names of the module's loggers."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in LOGGERS
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def levels(node: ast.AST, names: set[str]) -> set[str]:
    """The levels of the loggers' methods in an expression."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in names
    } & LEVELS


def events(tree: ast.Module) -> Iterator[tuple[ast.Call, set[str]]]:
    """The calls that log an event, with the levels that it may have."""
    names = loggers(tree)
    chosen = {  # such as: level = log.error if final else log.warning
        node.targets[0].id: found
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if not isinstance(node.value, ast.Call) and (found := levels(node.value, names))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = chosen.get(node.func.id) if isinstance(node.func, ast.Name) else levels(node.func, names)
            if found:
                yield node, found


@cache
def logged() -> list[tuple[Path, ast.Call, set[str]]]:
    """Every call in the package that logs an event."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text()
        if any(name in source for name in LOGGERS):
            found += [(path.relative_to(PACKAGE), *each) for each in events(ast.parse(source))]
    return found


def test_every_error_in_the_log_says_what_to_do() -> None:
    errors = [(path, call) for path, call, found in logged() if found & ERRORS]

    assert len(errors) > 30
    assert [
        f"{path}:{call.lineno}" for path, call in errors if "to_do" not in [keyword.arg for keyword in call.keywords]
    ] == []


def test_what_to_do_is_said_in_sentences() -> None:
    said = {
        f"{path}:{call.lineno}": ast.unparse(keyword.value).removeprefix("f").strip("'\"")
        for path, call, _ in logged()
        for keyword in call.keywords
        if keyword.arg == "to_do" and isinstance(keyword.value, ast.Constant | ast.JoinedStr)
    }

    assert len(said) > 50
    assert {place: text for place, text in said.items() if not text[0].isupper()} == {}
    assert {place: text for place, text in said.items() if text[-1] != "." and ": " not in text} == {}
