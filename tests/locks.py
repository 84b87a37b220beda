"""Checks that the transactions of every test take their locks in the order given in `services/editing.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from bookgen.store.database import Connection

RANKS = ("account", "account_slot", "subscription", "run", "book", "chapter", "report")
# An upsert locks the row of the subscription first.
STANDS_FOR = {"usage_period": "subscription"}

WRITES = r"(?:UPDATE|DELETE\s+FROM|INSERT\s+INTO(?=\s+usage_period))\s+(?P<written>[a-z_]+)"
READS = r"(?:FROM|JOIN)\s+(?P<read>[a-z_]+)(?:\s+(?:AS\s+)?(?P<alias>[a-z]+)\b)?"
LOCKS = (
    r"FOR\s+(?:NO\s+KEY\s+UPDATE|UPDATE|SHARE|KEY\s+SHARE)\b"
    r"(?:\s+OF\s+(?P<of>[a-z]+(?:\s*,\s*[a-z]+)*))?(?P<skips>\s+SKIP)?"
)
PARTS = re.compile(f"{LOCKS}|{WRITES}|{READS}")


@cache
def locked(statement: str) -> tuple[str, ...]:
    """The ranked tables in which the statement locks rows, in the order of its text.

    New rows and rows locked with SKIP LOCKED are left out, because no session can wait for them.
    """
    found: list[str] = []
    read: dict[str, str] = {}
    last = ""
    for part in PARTS.finditer(statement):
        if part["written"]:
            found.append(part["written"])
        elif part["read"]:
            last = part["read"]
            read[part["alias"] or last] = read[last] = last
        elif not part["skips"]:
            names = part["of"].split(",") if part["of"] else [last]
            found += [read.get(name.strip(), name.strip()) for name in names]
    tables = (STANDS_FOR.get(table, table) for table in found)
    return tuple(table for table in tables if table in RANKS)


def in_order(tables: tuple[str, ...]) -> bool:
    """Whether the first lock on each table comes before any lock on a table of a higher rank."""
    ranks = [RANKS.index(table) for table in dict.fromkeys(tables)]
    return ranks == sorted(ranks)


class Watch:
    """The locks of open transactions. `broken`: transactions that violated the order, with the statement."""

    def __init__(self) -> None:
        self._open: WeakKeyDictionary[Connection, tuple[str, ...]] = WeakKeyDictionary()
        self.broken: list[tuple[tuple[str, ...], str]] = []
        self.seen: set[tuple[str, ...]] = set()

    def see(self, connection: Connection, statement: str) -> None:
        if statement.startswith("BEGIN"):
            self._open[connection] = ()
        elif statement.startswith(("COMMIT", "ROLLBACK;")):
            self._open.pop(connection, None)
        elif tables := locked(statement):
            tables = tuple(dict.fromkeys(self._open.get(connection, ()) + tables))
            if connection in self._open:
                self._open[connection] = tables
            self.seen.add(tables)
            if not in_order(tables):
                self.broken.append((tables, statement))


WATCH = Watch()


def _watched(method: Callable[..., Any]) -> Callable[..., Any]:
    async def call(self: Connection, statement: str, *args: Any, **kwargs: Any) -> Any:
        WATCH.see(self, statement)
        return await method(self, statement, *args, **kwargs)

    return call


def pytest_configure() -> None:
    for name in ("execute", "executemany", "fetch", "fetchmany", "fetchrow", "fetchval"):
        setattr(Connection, name, _watched(getattr(Connection, name)))


@pytest.fixture(autouse=True)
def lock_order() -> Iterator[Watch]:
    """Fail the test if a transaction in its process violated the lock order."""
    WATCH.broken.clear()
    WATCH.seen.clear()
    yield WATCH
    assert not WATCH.broken, WATCH.broken
