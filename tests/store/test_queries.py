"""Every query in the store and in billing is valid for the schema in sql/, and is defined above the function that runs
it.
"""

import ast
import importlib
import inspect
import pkgutil
from functools import cache

import asyncpg
import pytest

import bookgen.billing
import bookgen.store

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "LOCK")

QUERIES = [
    pytest.param(value, id=f"{module.name}.{name}")
    for package in (bookgen.store, bookgen.billing)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    for name, value in vars(importlib.import_module(module.name)).items()
    if name.isupper() and isinstance(value, str) and value.lstrip().startswith(VERBS)
]


@pytest.mark.parametrize("query", QUERIES)
async def test_every_query_is_valid(pool: asyncpg.Pool, query: str) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(query)


def test_a_query_is_defined_above_the_first_function_that_uses_it() -> None:
    far = []
    for module, _, name in (str(query.id).rpartition(".") for query in QUERIES):
        definitions = [node for node in statements(module) if isinstance(node, DEFINITIONS)]
        running = [node for node in definitions if name in names(node)]  # these are parts of other queries
        for line in (node.lineno for node in statements(module) if running and sets(node, name)):
            if running[0] is not next((node for node in definitions if node.lineno > line), None):
                far.append(f"{module}.{name}")

    assert far == []


@cache
def statements(module: str) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(importlib.import_module(module))).body


@cache
def names(tree: ast.AST) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def sets(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and names(node.targets[0]) == {name}
