"""The real PostgreSQL, given one statement at a time: while it works, the simulated world stands still.

A statement that waits for a lock is found by `pg_blocking_pids` and set aside until another's end lets it go on, so
that nothing ever depends on who is faster. The server's clock is ours: `now()` of the schema `public`, which sessions
find before that of `pg_catalog`, tells the virtual time.
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

EPOCH = 1_800_000_000.0  # what the database's clock shows at the virtual second 0
LOOK_SECONDS = 0.002  # in which most statements are done
FORGET = "RESET ALL; UNLISTEN *"
PIDS = re.compile(rb"\{([\d,]*)\}")

PARAMETER = re.compile(r"\$(\d+)")

Hear: TypeAlias = Callable[[bytes], None]


class Disposition(NamedTuple):
    """How the server is disposed just now: what its clock shows, and whether it takes writes. `pid`: who asks."""

    now: float
    read_only: bool
    pid: int = 0


@dataclass(eq=False)
class Waiting:
    """A statement that waits for a lock."""

    session: Session
    answered: Hear


class Postgres:
    """The server, and the sessions that nobody uses just now: to make one takes longer than a hundred statements."""

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
        """The database as it was after its migrations, with sessions as they were in the beginning.

        Each plan that a session keeps is looked through at each change of the schema, which every restoring is.
        """
        self.rows(self._restore)
        self.forget_statements()
        for session in self._sessions:
            session.ask("DEALLOCATE ALL")

    def forget_statements(self) -> None:
        """The schema has changed: what is prepared from now on is prepared anew."""
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
        """As the server does when the client has gone: what was not committed never happened."""
        self.reset(session)
        self._spare.setdefault(session.start, []).append(session)

    def reset(self, session: Session) -> None:
        """Ends what the session has begun, and leaves it to the next client."""
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
        """Those of the session's next client."""
        return Statements(session.prepared)

    def perform(
        self, session: Session, sql: str, request: list[bytes], disposition: Disposition, answered: Hear
    ) -> Waiting | None:
        """Carries the request, by its frames, out and tells its answer; later, if it has to wait for a lock."""
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
        """Whatever is notified on the session's channels is told to `hear`."""
        self._listeners[session] = hear

    def give_up(self, waiting: Waiting, sqlstate: str, text: str) -> None:
        """Ends a statement that waits, with an error."""
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
        """What a query of the observer's shows, as text."""
        sql = PARAMETER.sub(lambda found: _literal(parameters[int(found[1]) - 1]), sql)
        answer, _ = wire.frames(self.monitor.ask(sql))
        if failed := next((frame for frame in answer if frame[:1] == b"E"), None):
            raise RuntimeError(f"{sql}: {failed!r}")
        return [wire.values(frame) for frame in answer if frame[:1] == b"D"]

    def _settings(self, session: Session, disposition: Disposition) -> list[str]:
        """What a session has to be told before its next statement."""
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
        """The answer to what was begun; None when it waits for a lock."""
        for _ in range(int(STUCK_SECONDS / LOOK_SECONDS)):
            try:
                return session.listen(LOOK_SECONDS)
            except TimeoutError:
                if self._blockers(session.pid):
                    return None
        raise TimeoutError("PostgreSQL does not answer")

    def _let_others_go_on(self) -> None:
        """Those that waited for locks which the last statement has freed."""
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
