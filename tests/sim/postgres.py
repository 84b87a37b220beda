"""The real PostgreSQL, given one statement at a time. The simulated world stands still while it works.

A statement that waits for a lock is detected with `pg_blocking_pids` and set aside until another statement lets it
continue, so that nothing depends on speed. The server's clock is simulated: sessions find `public.now()`, which returns
the virtual time, before the one in `pg_catalog`.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tests.sim import wire
from tests.sim.session import STUCK_SECONDS, Session
from tests.sim.statements import Statements

EPOCH = 1_800_000_000.0  # the database's time at virtual second 0
LOOK_SECONDS = 0.002  # seconds in which most statements finish
FORGET = "RESET ALL; UNLISTEN *"
PIDS = re.compile(rb"\{([\d,]*)\}")

PARAMETER = re.compile(r"\$(\d+)")

Hear: TypeAlias = Callable[[bytes], None]


class Disposition(NamedTuple):
    """The state of the server: its clock, and whether it accepts writes. `pid`: the process that asks."""

    now: float
    read_only: bool
    pid: int = 0


@dataclass(eq=False)
class Waiting:
    """A statement that waits for a lock."""

    session: Session
    answered: Hear


class Postgres:
    """The server and its idle sessions, because creating one takes longer than a hundred statements."""

    def __init__(self, address: str, user: str, database: str, restore: str) -> None:
        self._restore = restore
        self.waiting: list[Waiting] = []
        self.statements = 0
        self.login = {b"user": user.encode(), b"database": database.encode()}
        self._address = address
        self._sessions: list[Session] = []
        self._listeners: dict[Session, Hear] = {}
        self._spare: dict[bytes, list[Session]] = {}
        packet = f"user\0{user}\0database\0{database}\0application_name\0simulation\0\0".encode()
        self.monitor = Session(address, struct.pack("!ii", len(packet) + 8, 196608) + packet)

    def restore(self) -> None:
        """Restore the database after its migrations, with fresh sessions. Every cached plan of a session is checked at
        each change of the schema, and restoring changes it.
        """
        self.rows(self._restore)
        self.forget_statements()
        for session in self._sessions:
            session.ask("DEALLOCATE ALL")

    def forget_statements(self) -> None:
        """The schema has changed: statements are prepared again from now on."""
        for session in self._sessions:
            session.prepared.known.clear()

    def shut(self) -> None:
        for session in (self.monitor, *self._sessions):
            session.close()

    # Sessions

    def open(self, start: bytes) -> Session:
        if spare := self._spare.get(start):
            return spare.pop()
        session = Session(self._address, start)
        self._sessions.append(session)
        return session

    def end(self, session: Session) -> None:
        """Like the server when the client has disconnected: uncommitted work is rolled back."""
        self.reset(session)
        self._spare.setdefault(session.start, []).append(session)

    def reset(self, session: Session) -> None:
        """End what the session has begun, and keep it for the next client."""
        for waiting in [each for each in self.waiting if each.session is session]:
            self.waiting.remove(waiting)
            self.cancel(session.pid, session.secret)
            session.listen()
        self._listeners.pop(session, None)
        if session.unsynced:
            session.begin(wire.SYNC)
            session.listen()
        if session.status != wire.IDLE:
            session.ask("ROLLBACK")
        session.ask(FORGET)
        session.disposition = None
        session.notifies = False
        self._let_others_go_on()

    # Statements

    def statements_of(self, session: Session) -> Statements:
        """The prepared statements of the session's next client."""
        return Statements(session.prepared)

    def perform(
        self, session: Session, sql: str, request: list[bytes], disposition: Disposition, answered: Hear
    ) -> Waiting | None:
        """Carry out a request, given as frames, and deliver its response, later if it waits for a lock."""
        self.statements += 1
        session.notifies |= "pg_notify" in sql
        session.begin(b"".join(request), *self._settings(session, disposition))
        answer = self._finish(session)
        if answer is None:
            waiting = Waiting(session, answered)
            self.waiting.append(waiting)
            return waiting
        self._tell(session, answered, answer)
        self._let_others_go_on()
        return None

    def listen(self, session: Session, hear: Hear) -> None:
        """Call `hear` for every notification on the session's channels."""
        self._listeners[session] = hear

    def give_up(self, waiting: Waiting, sqlstate: str, text: str) -> None:
        """End a waiting statement with an error."""
        self.waiting.remove(waiting)
        self.cancel(waiting.session.pid, waiting.session.secret)
        answer = waiting.session.listen()
        if b"C57014\0" in answer:
            answer = wire.error(sqlstate, text) + wire.message(wire.READY, waiting.session.status)
        self._tell(waiting.session, waiting.answered, answer)
        self._let_others_go_on()

    def cancel(self, pid: int, secret: int) -> None:
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(self._address)
            other.sendall(struct.pack("!iiii", 16, wire.CANCEL, pid, secret))
            other.recv(1)

    def waits_for_itself(self, session: Session) -> bool:
        """Whether the session is part of a deadlock."""
        seen: set[int] = set()
        following = self._blockers(session.pid)
        while following:
            seen |= following
            following = {pid for each in following for pid in self._blockers(each)} - seen
        return session.pid in seen

    def rows(self, sql: str, *parameters: object) -> list[list[str | None]]:
        """The rows of an observer's query, as text."""
        sql = PARAMETER.sub(lambda found: _literal(parameters[int(found[1]) - 1]), sql)
        answer, _ = wire.frames(self.monitor.ask(sql))
        if failed := next((frame for frame in answer if frame[:1] == b"E"), None):
            raise RuntimeError(f"{sql}: {failed!r}")
        return [wire.values(frame) for frame in answer if frame[:1] == b"D"]

    def _settings(self, session: Session, disposition: Disposition) -> list[str]:
        """Settings that a session needs before its next statement."""
        begun = session.unsynced or session.status != wire.IDLE
        if begun and session.disposition:  # the transaction is what it is, and if it is rolled back, so is the setting
            disposition = disposition._replace(read_only=session.disposition.read_only)
        if session.status == wire.FAILED or session.failing or session.disposition == disposition:
            return []
        known, session.disposition = session.disposition, disposition
        settings = f"SET sim.now = '{disposition.now!r}'"
        if known is None or known.read_only != disposition.read_only:
            settings += f"; SET default_transaction_read_only = {'on' if disposition.read_only else 'off'}"
        if known is None or known.pid != disposition.pid:
            settings += f"; SET sim.pid = {disposition.pid}"
        return [settings]

    def _blockers(self, pid: int) -> set[int]:
        found = PIDS.search(self.monitor.ask(f"SELECT pg_blocking_pids({pid})"))
        return {int(each) for each in found[1].split(b",") if each} if found else set()

    def _finish(self, session: Session) -> bytes | None:
        """The response to what was begun, or None if it waits for a lock."""
        for _ in range(int(STUCK_SECONDS / LOOK_SECONDS)):
            try:
                return session.listen(LOOK_SECONDS)
            except TimeoutError:
                if self._blockers(session.pid):
                    return None
        raise TimeoutError("PostgreSQL does not answer")

    def _let_others_go_on(self) -> None:
        """Continue statements that waited for locks which the last statement released."""
        for waiting in list(self.waiting):
            if waiting in self.waiting and (answer := self._finish(waiting.session)) is not None:
                self.waiting.remove(waiting)
                self._tell(waiting.session, waiting.answered, answer)
                self._let_others_go_on()

    def _tell(self, session: Session, answered: Hear, answer: bytes) -> None:
        if session.status == wire.IDLE and session.notifies:
            session.notifies = False
            for listener, hear in self._listeners.items():
                heard, _ = wire.frames(listener.ask(""))
                if told := b"".join(frame for frame in heard if frame[:1] == wire.NOTIFICATION):
                    hear(told)
        answered(answer)


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
