"""The store in memory behind PostgreSQL's protocol, in the place of the real server.

It carries out PostgreSQL's own analysis of each statement on versioned rows, with the locks of READ COMMITTED.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import greenlet

from tests.sim import wire
from tests.sim.memory import values
from tests.sim.memory.backend import Backend, MemorySession, MemoryStatements, moment, notification
from tests.sim.memory.errors import SqlError
from tests.sim.memory.statements import Engine
from tests.sim.memory.storage import StoredTable, Transaction, Values
from tests.sim.postgres import EPOCH, Disposition, Hear, Waiting
from tests.sim.session import Session
from tests.sim.statements import Statements


class MemoryPostgres:
    """As `Postgres`, of which it asks how each statement is understood, and nothing else."""

    def __init__(self, engine: Engine, real: Session) -> None:
        self.waiting: list[Waiting] = []
        self.statements = 0
        self.engine = engine
        self.store = engine.store
        self._backend = Backend(engine, real)
        self._real = real
        self._sessions: list[MemorySession] = []
        self._spare: dict[bytes, list[MemorySession]] = {}
        self._listeners: dict[MemorySession, Hear] = {}
        self._idle: list[greenlet.greenlet] = []
        engine._open = lambda: [each.transaction for each in self._sessions if each.transaction]
        self.monitor = self.open(real.start)
        self._kept: dict[StoredTable, list[Values]] = {}
        self._sequences: dict[int, int] = {}
        self._keep()

    # Between schedules

    def _keep(self) -> None:
        """What the migrations have put into the tables."""
        for table in self.store.tables.values():
            schema = "seen" if table.shape.name in ("breach", "charge") else "public"
            columns = table.shape.columns
            listed = ", ".join(f'"{column.name}"' for column in columns)
            answer = self._real.ask(f'SELECT {listed} FROM {schema}."{table.shape.name}"')
            self._kept[table] = [
                tuple(None if text is None else values.from_text(column.type, text)
                      for column, text in zip(columns, wire.values(frame), strict=True))
                for frame in wire.frames(answer)[0] if frame[:1] == b"D"
            ]  # fmt: skip
        self._sequences = {
            oid: int(wire.values(frame)[0] or 1)
            for oid in self.engine.catalog.sequences
            for frame in wire.frames(
                self._real.ask(
                    f"SELECT CASE WHEN is_called THEN last_value + 1 ELSE last_value END FROM {self._name(oid)}"
                )
            )[0]
            if frame[:1] == b"D"
        }

    def _name(self, oid: int) -> str:
        frame = next(f for f in wire.frames(self._real.ask(f"SELECT {oid}::regclass"))[0] if f[:1] == b"D")
        return str(wire.values(frame)[0])

    def restore(self) -> None:
        """As it was after the migrations."""
        self.engine.forget_newer_column()
        for table, rows in self._kept.items():
            table.empty()
            for row in rows:
                table.add(row, None)
        self.store.sequences = dict(self._sequences)
        self.store.advisory.clear()
        self.store.history.clear()
        self.store.clock = float
        self.forget_statements()

    def lose(self, seconds: float) -> int:
        """As a replica that lags so far behind and becomes the primary; how many transactions it has not."""
        return self.store.lose(seconds)

    def go_by(self, clock: Callable[[], float]) -> None:
        self.store.clock = clock

    def forget_statements(self) -> None:
        for session in self._sessions:
            session.prepared.known.clear()

    def shut(self) -> None:
        self._real.close()

    # Sessions

    def open(self, start: bytes) -> MemorySession:
        if spare := self._spare.get(start):
            return spare.pop()
        session = MemorySession(start)
        key = struct.pack("!ii", session.pid, session.secret)
        session.greeting = b"".join(
            wire.message(b"K", key) if frame[:1] == b"K" else frame for frame in wire.frames(self._real.greeting)[0]
        )
        self._sessions.append(session)
        return session

    def end(self, session: MemorySession) -> None:
        for waiting in [each for each in self.waiting if each.session is session]:
            self.waiting.remove(waiting)
            self._throw(session, SqlError("57P01", "terminating connection"))
        self._listeners.pop(session, None)
        self._backend.roll_back(session)
        session.unsynced = session.failing = False
        session.channels.clear()
        self._spare.setdefault(session.start, []).append(session)
        self._let_others_go_on()

    def listen(self, session: MemorySession, hear: Hear) -> None:
        self._listeners[session] = hear

    # Statements

    def statements_of(self, session: MemorySession) -> Statements:
        return MemoryStatements(self._backend, session)

    def perform(
        self, session: MemorySession, sql: str, request: list[bytes], disposition: Disposition, answered: Hear
    ) -> Waiting | None:
        self.statements += 1
        session.disposition = disposition
        session.work = self._idle.pop() if self._idle else self._worker()
        answer = self._go_on(session, session, request)
        if answer is None:
            waiting = Waiting(session, answered)
            self.waiting.append(waiting)
            return waiting
        self._tell(answered, answer)
        self._let_others_go_on()
        return None

    def give_up(self, waiting: Waiting, sqlstate: str, text: str) -> None:
        self.waiting.remove(waiting)
        answer = self._throw(waiting.session, SqlError(sqlstate, text))
        assert answer is not None
        self._tell(waiting.answered, answer)
        self._let_others_go_on()

    def waits_for_itself(self, session: MemorySession) -> bool:
        following, seen = session.waits_for, set[Any]()
        while following is not None and following.session not in seen:
            if following.session is session:
                return True
            seen.add(following.session)
            following = following.session.waits_for
        return False

    def rows(self, sql: str, *parameters: Any) -> list[list[str | None]]:
        """What a query of the observer's shows, as text."""
        analysis = self.engine.catalog.analyse(sql, newer=self.engine.newer)
        given = [
            None if value is None else values.from_text(oid, str(value))
            for oid, value in zip(analysis.parameters, parameters, strict=True)
        ]
        transaction = Transaction(self.monitor)
        found = self.engine.execute(self.engine.compile(sql), transaction, given, moment(EPOCH))
        self.store.commit(transaction)
        return [
            [
                None if value is None else values.to_text(oid, value)
                for (_, oid), value in zip(analysis.columns, row, strict=True)
            ]
            for row in found
            if analysis.columns
        ]

    def _let_others_go_on(self) -> None:
        for waiting in list(self.waiting):
            other = waiting.session.waits_for
            if waiting in self.waiting and (other is None or other.over):
                answer = self._go_on(waiting.session)
                if answer is not None:
                    self.waiting.remove(waiting)
                    self._tell(waiting.answered, answer)
                    self._let_others_go_on()

    def _worker(self) -> greenlet.greenlet:
        """Answers one request after the other: to begin a greenlet takes longer than to switch to one."""

        def work(session: MemorySession, request: list[bytes]) -> None:
            caller = worker.parent
            while True:
                answer = self._backend.answer(session, request)
                del session, request  # or they would be kept as long as it waits, which may be for ever
                session, request = caller.switch(answer)

        worker = greenlet.greenlet(work)
        return worker

    def _go_on(self, session: MemorySession, *request: Any) -> bytes | None:
        """The answer; None when the statement waits for another transaction."""
        return self._heard(session, session.work.switch(*request))

    def _throw(self, session: MemorySession, error: SqlError) -> bytes | None:
        return self._heard(session, session.work.throw(error))

    def _heard(self, session: MemorySession, found: bytes | Transaction) -> bytes | None:
        if isinstance(found, Transaction):
            session.waits_for = found
            return None
        session.waits_for = None
        self._idle.append(session.work)
        return found

    def _tell(self, answered: Hear, answer: bytes) -> None:
        for told in self._backend.notified:
            for listener, hear in self._listeners.items():
                if heard := b"".join(notification(*each) for each in told if each[0] in listener.channels):
                    hear(heard)
        self._backend.notified.clear()
        answered(answer)
