"""The frames of PostgreSQL's protocol, as far as a proxy needs to know them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

CANCEL = 80877102
READY, NOTIFICATION, FAILURE = b"Z", b"A", b"E"
UNASKED = b"ANS"  # messages that a server may send at any time
SYNC, FLUSH = b"S\0\0\0\4", b"H\0\0\0\4"
EXECUTE, EXECUTE_SIZE = b"E\0\0\0\11", 10  # of the unnamed portal
IDLE, IN_TRANSACTION, FAILED = b"I", b"T", b"E"
START, END = "<start>", "<end>"


_length = struct.Struct("!I").unpack_from


def frames(data: bytes) -> tuple[list[bytes], bytes]:
    """The complete typed messages in `data`, and the rest."""
    whole, at, size = [], 0, len(data)
    while size - at >= 5:
        end = at + 1 + _length(data, at + 1)[0]
        if size < end:
            break
        whole.append(data[at:end])
        at = end
    return whole, data[at:]


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def query(sql: str) -> bytes:
    return message(b"Q", sql.encode() + b"\0")


def error(sqlstate: str, text: str, severity: str = "ERROR") -> bytes:
    return message(FAILURE, f"S{severity}\0V{severity}\0C{sqlstate}\0M{text}\0\0".encode())


def sqlstate(answer: bytes) -> str:
    """The SQLSTATE of the first error in a response, or an empty string."""
    if b"\0C" not in answer:  # every error contains it, and hardly anything else does
        return ""
    for frame in frames(answer)[0]:
        if frame[:1] == FAILURE:
            return next((part[1:].decode() for part in frame[5:].split(b"\0") if part[:1] == b"C"), "")
    return ""


def values(row: bytes) -> list[str | None]:
    """The values of a DataRow in text format."""
    (count,), at, found = struct.unpack("!h", row[5:7]), 7, []
    for _ in range(count):
        (length,) = struct.unpack("!i", row[at : at + 4])
        at += 4
        found.append(None if length < 0 else row[at : at + length].decode())
        at += max(length, 0)
    return found


def answers(request: bytes) -> int | None:
    """How many messages answer a request that ends with Flush; None for one answered by ReadyForQuery."""
    if request[-5:] != FLUSH:
        return None
    asked = frames(request)[0]
    return sum(2 if frame[:1] == b"D" and frame[5:6] == b"S" else 1 for frame in asked[:-1])


@dataclass(slots=True)
class ClientStream:
    """What a client has sent so far: its prepared statements, and its current request."""

    _rest: bytes = b""
    _started: bool = False
    _asked: list[bytes] = field(default_factory=list)
    _prepared: dict[bytes, str] = field(default_factory=dict)

    def says(self, data: bytes) -> list[tuple[str, list[bytes]]]:
        """The requests that are complete now: the SQL of each, and its frames."""
        if data[:1] == b"B" and data[-5:] == SYNC and not (self._rest or self._asked):  # as nearly all are
            end = 1 + _length(data, 1)[0]
            if data[end : end + 5] == EXECUTE and end + EXECUTE_SIZE + len(SYNC) == len(data) and data[5] == 0:
                name = data[6 : data.index(b"\0", 6)]
                return [(self._prepared.get(name, ""), [data[:end], data[end:-5], SYNC])]
        data, requests = self._rest + data, []
        if not self._started and len(data) >= 4:
            length = int.from_bytes(data[:4], "big")
            if len(data) >= length:
                packet, data, self._started = data[:length], data[length:], True
                requests.append((START, [packet]))
        if self._started:
            whole, data = frames(data)
            for frame in whole:
                self._asked.append(frame)
                if frame[:1] in b"SQXH":
                    requests.append((self._sql(), self._asked))
                    self._asked = []
        self._rest = data
        return requests

    def _sql(self) -> str:
        sql = ""
        for frame in self._asked:
            match frame[:1]:
                case b"Q":
                    sql = frame[5:].rstrip(b"\0").decode()
                case b"X":
                    sql = END
                case b"P":
                    name, text, _ = frame[5:].split(b"\0", 2)
                    self._prepared[name] = sql = text.decode()
                case b"B":
                    sql = self._prepared.get(frame[5:].split(b"\0", 2)[1], "")
        return sql
