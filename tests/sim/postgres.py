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
from typing import TypeAlias

from tests.sim import wire
from tests.sim.statements import Prepared

EPOCH = 1_800_000_000.0  # what the database's clock shows at the virtual second 0
LOOK_SECONDS = 0.002  # in which most statements are done
STUCK_SECONDS = 20.0
FORGET = "RESET ALL; UNLISTEN *"
PIDS = re.compile(rb"\{([\d,]*)\}")

Hear: TypeAlias = Callable[[bytes], None]


class Session:
    """A backend of the real server. `status`: whether it is in a transaction, by its last word."""

    def __init__(self, address: str, start: bytes) -> None:
        self.start = start
        self.status = wire.IDLE
        self.prepared = Prepared()
        self.notifies = False
        self.unsynced = False  # in the middle of what a client sends before it says Sync
        self.failing = False  # … and of what is passed over until then, for an error
        self._to_come: int | None
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        self._rest = b""
        self._heard: list[bytes] = []
        self._listening = False
        self._to_come_before, self._to_come = 0, None
        self._send(start)
        self.greeting = self.listen()
        key = next(frame for frame in wire.frames(self.greeting)[0] if frame[:1] == b"K")
        self.pid, self.secret = struct.unpack("!ii", key[5:13])

    def begin(self, request: bytes, *before: str) -> None:
        """Sends the request; of the answers to the statements before it only notifications are kept."""
        self._to_come_before, self._to_come = len(before), wire.answers(request)
        self._send(b"".join(map(wire.query, before)) + request)

    def _send(self, data: bytes) -> None:
        self._listening = True
        self._socket.sendall(data)

    def listen(self, seconds: float = STUCK_SECONDS) -> bytes:
        """The whole answer. TimeoutError when it has not come within `seconds`."""
        while self._listening:
            self._socket.settimeout(seconds)
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("PostgreSQL has ended the session")
            whole, self._rest = wire.frames(self._rest + data)
            for frame in whole:
                self._hear(frame)
        answer, self._heard = b"".join(self._heard), []
        return answer

    def _hear(self, frame: bytes) -> None:
        kind = frame[:1]
        self._heard.append(frame)
        if self._to_come_before:
            if kind == wire.READY:
                self._to_come_before -= 1
                self._heard = [kept for kept in self._heard if kept[:1] == wire.NOTIFICATION]
        elif self._to_come is None:
            if kind == wire.READY:
                self.status, self.unsynced, self.failing, self._listening = frame[5:6], False, False, False
        elif kind not in wire.UNASKED:
            self.unsynced, self.failing = True, kind == wire.FAILURE
            self._to_come -= 1
            self._listening = bool(self._to_come) and not self.failing

    def ask(self, sql: str) -> bytes:
        self.begin(wire.query(sql))
        return self.listen()

    def close(self) -> None:
        self._socket.close()


@dataclass(eq=False)
class Waiting:
    """A statement that waits for a lock."""

    session: Session
    answered: Hear


class Postgres:
    """The server, and the sessions that nobody uses just now: to make one takes longer than a hundred statements."""

    def __init__(self, address: str, user: str, database: str) -> None:
        self.waiting: list[Waiting] = []
        self.statements = 0
        self._address = address
        self._sessions: list[Session] = []
        self._listeners: dict[Session, Hear] = {}
        self._spare: dict[bytes, list[Session]] = {}
        packet = f"user\0{user}\0database\0{database}\0application_name\0simulation\0\0".encode()
        self.monitor = Session(address, struct.pack("!ii", len(packet) + 8, 196608) + packet)

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
        session.notifies = False
        self._spare.setdefault(session.start, []).append(session)
        self._let_others_go_on()

    # Statements

    def perform(self, session: Session, sql: str, request: bytes, settings: str, answered: Hear) -> Waiting | None:
        """Carries the request out and tells its answer; later, if it has to wait for a lock."""
        self.statements += 1
        session.notifies |= "pg_notify" in sql
        session.begin(request, *([settings] if session.status != wire.FAILED and not session.failing else []))
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

    def rows(self, sql: str) -> list[list[str | None]]:
        """What a query of the observer's shows, as text."""
        answer, _ = wire.frames(self.monitor.ask(sql))
        if failed := next((frame for frame in answer if frame[:1] == b"E"), None):
            raise RuntimeError(f"{sql}: {failed!r}")
        return [wire.values(frame) for frame in answer if frame[:1] == b"D"]

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
