"""The store in memory, held to a real server: each is asked the same in the same order, and has to answer the same."""

from __future__ import annotations

import functools
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from tests.sim import wire
from tests.sim.memory import values
from tests.sim.memory.backend import MemorySession
from tests.sim.memory.server import MemoryPostgres
from tests.sim.postgres import Disposition, Hear, Postgres, Waiting
from tests.sim.session import Session
from tests.sim.statements import Statements

TOLD = b"DCEZsI"  # kinds of frames that are compared
AS_JSON = (values.JSONB, values.JSON)


@dataclass(eq=False)
class Pair:
    """What both have heard of one statement, and who of them has answered."""

    sql: str
    answered: Hear
    of_memory: bytes | None = None
    of_real: bytes | None = None
    waits_in_memory: Waiting | None = None
    waits_at_real: Waiting | None = None


class HeldPostgres(MemoryPostgres):
    """Answers from memory. `different`: where the real server has said something else; `compared`: how much it was."""

    real: Postgres

    def held_to(self, real: Postgres) -> HeldPostgres:
        self.real = real
        self.compared = 0
        self.different: list[str] = []
        self._twins: dict[MemorySession, Session] = {}
        self._pairs: list[Pair] = []
        return self

    def restore(self) -> None:
        super().restore()
        self.real.restore()
        self._pairs.clear()
        self.different.clear()

    def forget_statements(self) -> None:
        super().forget_statements()
        if hasattr(self, "real"):
            self.real.forget_statements()

    def rows(self, sql: str, *parameters: Any) -> list[list[str | None]]:
        """The observer's writes are made on both; what it reads is compared."""
        found = super().rows(sql, *parameters)
        of_real = self.real.rows(sql, *parameters)
        self.compared += 1
        if sorted(map(_plain_texts, found)) != sorted(map(_plain_texts, of_real)):
            self.different.append(f"{' '.join(sql.split())[:90]}: {found[:3]} in memory, {of_real[:3]} on PostgreSQL")
        return found

    def lose(self, seconds: float) -> int:
        return self.real.lose(seconds)

    # Sessions

    def end(self, session: MemorySession) -> None:
        self._pairs = [
            pair for pair in self._pairs if pair.waits_in_memory is None or pair.waits_in_memory.session is not session
        ]
        super().end(session)
        if session in self._twins:
            self.real.reset(self._twins[session])
        self._settle()

    def _twin(self, session: MemorySession) -> Session:
        if session not in self._twins:
            self._twins[session] = self.real.open(_addressed(session.start, self.real.login))
        return self._twins[session]

    # Statements

    def statements_of(self, session: MemorySession) -> Statements:
        """By names that the real server knows too."""
        return Statements(session.prepared)

    def perform(
        self, session: MemorySession, sql: str, request: list[bytes], disposition: Disposition, answered: Hear
    ) -> Waiting | None:
        pair = Pair(sql, answered)
        self._pairs.append(pair)
        twin = self._twin(session)
        pair.waits_at_real = self.real.perform(
            twin, sql, request, disposition, functools.partial(_keep, pair, "of_real")
        )
        pair.waits_in_memory = super().perform(session, sql, request, disposition, _both(pair))
        self._settle()
        return pair.waits_in_memory

    def give_up(self, waiting: Waiting, sqlstate: str, text: str) -> None:
        pair = next((each for each in self._pairs if each.waits_in_memory is waiting), None)
        if pair and pair.waits_at_real in self.real.waiting:
            self.real.give_up(pair.waits_at_real, sqlstate, text)
        super().give_up(waiting, sqlstate, text)
        self._settle()

    def _settle(self) -> None:
        for pair in list(self._pairs):
            if pair.of_memory is not None and pair.of_real is not None:
                self._pairs.remove(pair)
                self._compare(pair, pair.of_memory, pair.of_real)
            elif (pair.of_memory is None) != (pair.of_real is None):
                self._pairs.remove(pair)
                waiting = "memory" if pair.of_memory is None else "PostgreSQL"
                self.different.append(f"{_short(pair.sql)}: it waits in {waiting} alone")

    def _compare(self, pair: Pair, memory: bytes, real: bytes) -> None:
        self.compared += 1
        columns = self._columns(pair.sql)
        one, other = _comparable(memory, columns), _comparable(real, columns)
        if one != other:
            self.different.append(
                f"{_short(pair.sql)}: {_difference(one, other)} in memory, {_difference(other, one)} on PostgreSQL"
            )

    def _columns(self, sql: str) -> tuple[tuple[str, int], ...]:
        known = self.engine.catalog.known(sql, newer=self.engine.newer)
        return known.columns if known else ()


def _addressed(start: bytes, login: dict[bytes, bytes]) -> bytes:
    """What a client says first, to another database."""
    words = start[8:-2].split(b"\0")
    asked = dict(zip(words[::2], words[1::2], strict=True)) | login
    body = start[4:8] + b"".join(name + b"\0" + value + b"\0" for name, value in asked.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def _both(pair: Pair) -> Callable[[bytes], None]:
    """Memory's answer is kept, and is what the client hears."""

    def hear(answer: bytes) -> None:
        pair.of_memory = answer
        pair.answered(answer)

    return hear


def _keep(pair: Pair, name: str, answer: bytes) -> None:
    setattr(pair, name, answer)


def _comparable(answer: bytes, columns: tuple[tuple[str, int], ...]) -> Counter[Any]:
    """What the frames say. Rows have no order but where the statement gives them one, and JSON has none inside."""
    return Counter(_said(frame, columns) for frame in wire.frames(answer)[0] if frame[:1] in TOLD)


def _said(frame: bytes, columns: tuple[tuple[str, int], ...]) -> Any:
    if frame[:1] == wire.FAILURE:
        return "E", wire.sqlstate(frame)
    if frame[:1] != b"D" or not any(oid in AS_JSON for _, oid in columns):
        return frame
    fields, at = [], 7
    for _, oid in columns:
        length = int.from_bytes(frame[at : at + 4], "big", signed=True)
        at += 4
        field = frame[at : at + max(length, 0)]
        at += max(length, 0)
        if oid in AS_JSON and length > 0:
            field = orjson.dumps(orjson.loads(field.removeprefix(b"\1")), option=orjson.OPT_SORT_KEYS)
        fields.append((length if oid not in AS_JSON else min(length, 0), field))
    return tuple(fields)


def _difference(one: Counter[Any], other: Counter[Any]) -> str:
    """What only the first has; of rows that are much alike, the fields that differ."""
    mine, others = list((one - other).elements()), list((other - one).elements())
    if mine and others and isinstance(mine[0], tuple) and isinstance(others[0], tuple):
        return str([field for field in mine[0] if field not in others[0]])[:300]
    return str(mine[:2])[:300]


def _plain_texts(row: list[str | None]) -> str:
    return repr([None if each is None else each.split("+")[0].rstrip("0").rstrip(".") for each in row])


def _short(sql: str) -> str:
    return " ".join(sql.split())[:90]
