"""A session of a real server, in PostgreSQL's own protocol."""

from __future__ import annotations

import socket
import struct

from tests.sim import wire
from tests.sim.statements import Prepared

STUCK_SECONDS = 20.0


class Session:
    """A backend of the real server. `status`: its transaction status, from its last message."""

    def __init__(self, address: str, start: bytes) -> None:
        self.start = start
        self.status = wire.IDLE
        self.prepared = Prepared()
        self.notifies = False
        self.disposition: object = None  # what it was last told about the server
        self.unsynced = False  # between the messages of a client and its Sync
        self.failing = False  # … and whether they are skipped after an error
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
        """Send the request. Of the responses to earlier statements only notifications are kept."""
        self._to_come_before, self._to_come = len(before), wire.answers(request)
        self._send(b"".join(map(wire.query, before)) + request)

    def _send(self, data: bytes) -> None:
        self._listening = True
        self._socket.sendall(data)

    def listen(self, seconds: float = STUCK_SECONDS) -> bytes:
        """The complete response. TimeoutError if it does not arrive within `seconds`."""
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
