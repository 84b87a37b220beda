"""What the store in memory does with a client's request: the protocol, transactions, and statements one by one."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tests.sim import wire
from tests.sim.memory import values
from tests.sim.memory.catalog import Analysis, RefusedStatement
from tests.sim.memory.errors import SqlError
from tests.sim.memory.statements import Engine, Execution
from tests.sim.memory.storage import Transaction
from tests.sim.nemesis import NEWER_COLUMN
from tests.sim.postgres import Disposition
from tests.sim.session import Session
from tests.sim.statements import Prepared, Statements

_pids = itertools.count(1)
CONTROL = re.compile(r"\s*(BEGIN|COMMIT|ROLLBACK TO|ROLLBACK|SAVEPOINT|RELEASE|LISTEN|UNLISTEN|SET|RESET|ALTER|DO)\b")
RAISED = re.compile(r"ERRCODE = '(\w+)'")
OF_THE_CATALOG = re.compile(r"pg_catalog|pg_type|'jit'|server_version")
READY = {status: wire.message(wire.READY, status) for status in (wire.IDLE, wire.IN_TRANSACTION, wire.FAILED)}
PARSED, BOUND = wire.message(b"1", b""), wire.message(b"2", b"")
TAGS = {"ALTER": "ALTER TABLE", "ROLLBACK TO": "ROLLBACK"}
IN_READ_ONLY = "cannot execute {} in a read-only transaction"


class PreparedStatement:
    """A statement, what reads its parameters, and what writes the columns of its rows.

    `described`: what is told of it when it is described.
    """

    __slots__ = ("analysis", "decoders", "described", "encoders", "sql")

    def __init__(self, sql: str, analysis: Analysis) -> None:
        self.sql = sql
        self.analysis = analysis
        self.described = b"".join(frame for frame in wire.frames(analysis.described)[0] if frame[:1] != b"1")
        self.decoders = [values.decoder(oid) for oid in analysis.parameters]
        self.encoders = [values.encoder(oid) for _, oid in analysis.columns] if analysis.query is not None else []


class MemorySession:
    """What a client has begun: its transaction, its statements and its portals.

    `disposition`: the server's when the session was asked last, which others may be before it has answered.
    """

    def __init__(self, start: bytes) -> None:
        self.start = start
        self.status = wire.IDLE
        self.prepared = Prepared()
        self.unsynced = False
        self.failing = False
        self.pid = next(_pids)
        self.secret = self.pid
        self.greeting = b""
        self.channels: set[str] = set()
        self.transaction: Transaction | None = None
        self.explicit = False
        self.read_only = False
        self.disposition = Disposition(0.0, read_only=False)
        self.statements: dict[bytes, PreparedStatement] = {}
        self.portals: dict[bytes, tuple[PreparedStatement, list[Any], bytes]] = {}
        self.waits_for: Transaction | None = None
        self.given_up: SqlError | None = None
        self.work: Any = None


class Backend:
    """Answers requests. `notified`: by what was committed meanwhile."""

    def __init__(self, engine: Engine, real: Session) -> None:
        self.engine = engine
        self.store = engine.store
        self.notified: list[list[tuple[str, str]]] = []
        self._real = real
        self._of_the_catalog: dict[tuple[str, bytes], bytes] = {}
        self._prepared: dict[tuple[bytes, bool], PreparedStatement] = {}

    def answer(self, session: MemorySession, request: list[bytes]) -> bytes:
        told: list[bytes] = []
        for frame in request:
            kind = frame[:1]
            if session.failing and kind != b"S":
                continue
            try:
                if kind == b"S":
                    self._sync(session, told)
                elif kind == b"Q":
                    self._simple(session, frame[5:-1].decode(), told)
                elif kind != b"H":
                    session.unsynced = True
                    EXTENDED[kind](self, session, frame[5:], told)
            except SqlError as error:
                self._fail(session, error.frame(), told, simple=kind == b"Q")
            except RefusedStatement as refused:
                self._fail(session, refused.frame, told, simple=kind == b"Q")
        return b"".join(told)

    def _fail(self, session: MemorySession, frame: bytes, told: list[bytes], *, simple: bool) -> None:
        told.append(frame)
        transaction = session.transaction
        if session.explicit:
            session.status = wire.FAILED
            if transaction and not transaction.savepoints:  # its locks are free before the client says ROLLBACK
                self.store.roll_back(transaction)
                session.transaction = None
        else:
            self.roll_back(session)
        if simple:
            told.append(READY[session.status])
        else:
            session.failing = session.unsynced = True

    def _sync(self, session: MemorySession, told: list[bytes]) -> None:
        session.unsynced = session.failing = False
        if not session.explicit:
            self._commit(session)
        told.append(READY[session.status])

    def _simple(self, session: MemorySession, sql: str, told: list[bytes]) -> None:
        for part in _parts(sql):
            if not part:
                told.append(wire.message(b"I", b""))
            elif CONTROL.match(part):
                told.append(_complete(self._control(session, part)))
            else:
                analysis = self._analysed(part)
                rows, tag = self._execute(session, part, ())
                told += [frame for frame in wire.frames(analysis.described)[0] if frame[:1] == b"T"]
                told += [_row([None if v is None else values.to_text(oid, v).encode()
                               for (_, oid), v in zip(analysis.columns, row, strict=True)]) for row in rows
                         if analysis.columns]  # fmt: skip
                told.append(_complete(tag))
        if not session.explicit:
            self._commit(session)
        told.append(READY[session.status])

    def _parse(self, session: MemorySession, body: bytes, told: list[bytes]) -> None:
        name, sql, _ = body.split(b"\0", 2)
        self._require_sound(session, sql.decode())
        session.statements[name] = prepared = self.prepare(sql)
        if prepared.analysis.query is not None:
            self.engine.use(self.engine.compile(prepared.sql), self._execution(session))
        told.append(PARSED)

    def prepare(self, sql: bytes) -> PreparedStatement:
        """RefusedStatement when the server does not take it."""
        known = self._prepared.get((sql, self.engine.newer))
        if known is None:
            text = sql.decode()
            known = self._prepared[sql, self.engine.newer] = PreparedStatement(text, self._analysed(text))
        return known

    def _describe(self, session: MemorySession, body: bytes, told: list[bytes]) -> None:
        if body[:1] == b"S":
            told.append(session.statements[body[1:-1]].described)

    def _bind(self, session: MemorySession, body: bytes, told: list[bytes]) -> None:
        portal, name, rest = body.split(b"\0", 2)
        statement = session.statements[name]
        if statement.analysis.query is not None:
            self._require_sound(session, statement.sql)
            if self.engine.newer and self._analysed(statement.sql).columns != statement.analysis.columns:
                raise SqlError("0A000", "cached plan must not change result type", routine="RevalidateCachedQuery")
        session.portals[portal] = statement, _parameters(statement, rest), rest
        told.append(BOUND)

    def _run(self, session: MemorySession, body: bytes, told: list[bytes]) -> None:
        portal, limit = body.split(b"\0", 1)
        statement, parameters, bound = session.portals[portal]
        if statement.analysis.query is None:
            sql = statement.sql
            control = CONTROL.match(sql)
            told.append(_complete(self._control(session, sql)) if control else self._from_the_catalog(sql, bound))
            return
        rows, tag = self._execute(session, statement.sql, parameters)
        most = int.from_bytes(limit, "big")
        if encoders := statement.encoders:
            for row in rows[: most or None]:
                told.append(
                    _row(
                        [None if value is None else encode(value) for encode, value in zip(encoders, row, strict=True)]
                    )
                )
            if most and len(rows) >= most:  # it does not look whether there are more
                told.append(wire.message(b"s", b""))
                return
        told.append(_complete(tag))

    def _close(self, _session: MemorySession, _body: bytes, told: list[bytes]) -> None:
        told.append(wire.message(b"3", b""))

    def _require_sound(self, session: MemorySession, sql: str) -> None:
        if session.status == wire.FAILED and not CONTROL.match(sql):
            raise SqlError("25P02", "current transaction is aborted, commands ignored until end of transaction block")

    def _analysed(self, sql: str) -> Analysis:
        if OF_THE_CATALOG.search(sql) or CONTROL.match(sql):
            return self.engine.catalog.describe(sql)
        return self.engine.catalog.analyse(sql, newer=self.engine.newer)

    # What statements do

    def _execute(self, session: MemorySession, sql: str, parameters: Any) -> tuple[list[Any], str]:
        self._require_sound(session, sql)
        statement = self.engine.compile(sql)
        transaction = self._transaction(session)
        if session.read_only and (statement.writes or statement.locks):
            what = statement.verb if statement.writes else "SELECT FOR UPDATE"
            raise SqlError("25006", IN_READ_ONLY.format(what))
        mark = len(transaction.undo)
        try:
            rows = self.engine.execute(statement, transaction, parameters, moment(session.disposition.now))
        except BaseException:
            self.store.take_back(transaction, mark)
            raise
        count = f"0 {len(rows)}" if statement.verb == "INSERT" else str(len(rows))
        return rows, f"{statement.verb} {count}"

    def _control(self, session: MemorySession, sql: str) -> str:
        word = CONTROL.match(sql)[1]  # type: ignore[index]
        match word:
            case "BEGIN":
                self._transaction(session)
                session.explicit, session.status = True, wire.IN_TRANSACTION
            case "COMMIT":
                failed = session.status == wire.FAILED
                (self.roll_back if failed else self._commit)(session)
                return "ROLLBACK" if failed else "COMMIT"
            case "ROLLBACK":
                self.roll_back(session)
            case "SAVEPOINT" | "ROLLBACK TO" | "RELEASE" if not session.explicit:
                raise SqlError("25P01", f"{word} can only be used in transaction blocks")
            case "SAVEPOINT":
                self._require_sound(session, "")
                transaction = self._transaction(session)
                transaction.savepoints.append((sql.rstrip(";").split()[1], len(transaction.undo)))
            case "ROLLBACK TO":
                self._roll_back_to(session, sql.rstrip(";").split()[-1])
            case "LISTEN":
                session.channels.add(sql.split()[1].strip('"'))
            case "UNLISTEN":
                session.channels.clear()
            case "DO":
                raise SqlError(RAISED.search(sql)[1], "simulated")  # type: ignore[index]
            case "ALTER":
                if " ".join(sql.split()) != NEWER_COLUMN:
                    raise NotImplementedError(sql)
                execution = self._execution(session)
                if session.read_only:
                    raise SqlError("25006", IN_READ_ONLY.format("ALTER TABLE"))
                self.engine.add_newer_column(execution)
        return TAGS.get(word, word)

    def _execution(self, session: MemorySession) -> Execution:
        return Execution(self.engine, self._transaction(session), (), moment(session.disposition.now))

    def _transaction(self, session: MemorySession) -> Transaction:
        if session.transaction is None:
            session.transaction = Transaction(session)
            session.read_only = session.disposition.read_only
        return session.transaction

    def _commit(self, session: MemorySession) -> None:
        transaction = session.transaction
        if transaction is not None:
            try:
                while transaction.deferred:
                    transaction.deferred.pop(0)()
            except SqlError:
                self.roll_back(session)
                raise
            self.store.commit(transaction)
            if transaction.notified:
                self.notified.append(list(transaction.notified))
        self._at_rest(session)

    def roll_back(self, session: MemorySession) -> None:
        if session.transaction is not None:
            self.store.roll_back(session.transaction)
        self._at_rest(session)

    def _roll_back_to(self, session: MemorySession, name: str) -> None:
        transaction = self._transaction(session)
        places = [place for place, (known, _) in enumerate(transaction.savepoints) if known == name]
        if not places:
            raise SqlError("3B001", f'savepoint "{name}" does not exist')
        del transaction.savepoints[places[-1] + 1 :]
        self.store.take_back(transaction, transaction.savepoints[-1][1])
        session.status = wire.IN_TRANSACTION

    def _at_rest(self, session: MemorySession) -> None:
        session.transaction, session.explicit, session.status = None, False, wire.IDLE

    # What the real server knows

    def _from_the_catalog(self, sql: str, bound: bytes) -> bytes:
        known = self._of_the_catalog.get((sql, bound))
        if known is None:
            self._real.begin(
                wire.message(b"P", b"\0" + sql.encode() + b"\0\0\0") + wire.message(b"B", b"\0\0" + bound)
                + wire.message(b"E", b"\0\0\0\0\0") + wire.SYNC
            )  # fmt: skip
            answer = [frame for frame in wire.frames(self._real.listen())[0] if frame[:1] in b"DCE"]
            known = self._of_the_catalog[sql, bound] = b"".join(answer)
        return known


class MemoryStatements(Statements):
    """The statements of a client of the store in memory, which knows each as soon as one client has prepared it."""

    def __init__(self, backend: Backend, session: MemorySession) -> None:
        super().__init__(session.prepared)
        self._backend = backend
        self._session = session
        session.statements = {}

    def answer(self, frames: list[bytes]) -> bytes | None:
        if len(frames) != 3 or self._session.status == wire.FAILED:
            return None
        name, sql, _ = frames[0][5:].split(b"\0", 2)
        try:
            prepared = self._session.statements[name] = self._backend.prepare(sql)
        except RefusedStatement:
            return None
        return PARSED + prepared.described

    def translate(self, frames: list[bytes]) -> list[bytes]:
        return frames

    def learn(self, answer: bytes) -> None:
        pass


EXTENDED: dict[bytes, Callable[..., None]] = {
    b"P": Backend._parse,
    b"D": Backend._describe,
    b"B": Backend._bind,
    b"E": Backend._run,
    b"C": Backend._close,
}


def moment(now: float) -> int:
    return round((now - values.MICROS_FROM_1970 // values.SECOND) * values.SECOND)


@lru_cache(1000)
def _parts(sql: str) -> list[str]:
    return [part.strip().rstrip(";") for part in re.split(r";\s*(?=DO )", sql)]


def _parameters(statement: PreparedStatement, rest: bytes) -> list[Any]:
    """Of the rest of a Bind message: formats, then values."""
    at = 4 + 2 * int.from_bytes(rest[:2], "big")
    found: list[Any] = []
    for decode in statement.decoders:
        (length,) = _length(rest, at)
        at += 4
        if length < 0:
            found.append(None)
        else:
            found.append(decode(rest[at : at + length]))
            at += length
    return found


_length = struct.Struct("!i").unpack_from


def _row(fields: list[bytes | None]) -> bytes:
    parts = []
    for field in fields:
        if field is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            parts.append(len(field).to_bytes(4, "big"))
            parts.append(field)
    body = b"".join(parts)
    return _head(b"D", len(body) + 6, len(fields)) + body


_head = struct.Struct("!cih").pack


@lru_cache(1000)
def _complete(tag: str) -> bytes:
    return wire.message(b"C", tag.encode() + b"\0")


def notification(channel: str, payload: str) -> bytes:
    return wire.message(wire.NOTIFICATION, struct.pack("!i", 1) + f"{channel}\0{payload}\0".encode())
