"""Every query in the store and in billing is understood by the schema in sql/."""

import importlib
import pkgutil

import asyncpg
import pytest

import bookgen.billing
import bookgen.store

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "LOCK")

QUERIES = [
    pytest.param(value, id=f"{module.name}.{name}")
    for package in (bookgen.store, bookgen.billing)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    for name, value in vars(importlib.import_module(module.name)).items()
    if name.isupper() and isinstance(value, str) and value.lstrip().startswith(VERBS)
]


@pytest.mark.parametrize("query", QUERIES)
async def test_query_is_valid(pool: asyncpg.Pool, query: str) -> None:
    async with pool.acquire() as connection:
        await connection.prepare(query)
