"""Prepared statements that outlive their clients, because preparing them for each connection would dominate the time.

A client gets the responses of a server of its own. Its statement has a different name at the server, under which the
next client of the same session finds it again, unless a migration came in between.
"""

from __future__ import annotations

import itertools

from tests.sim import wire

_names = itertools.count(1)


class Prepared:
    """The names and descriptions of a session's statements, by their text."""

    def __init__(self) -> None:
        self.known: dict[bytes, tuple[bytes, bytes]] = {}


class Statements:
    """The statements of one client, by the client's own names."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._names: dict[bytes, bytes] = {}
        self._asked: tuple[bytes, bytes] | None = None

    def answer(self, frames: list[bytes]) -> bytes | None:
        """The known response when a client prepares a statement."""
        if [frame[:1] for frame in frames] != [b"P", b"D", b"H"]:
            return None
        name, text = frames[0][5:].split(b"\0", 1)
        if known := self._prepared.known.get(text):
            self._names[name], answer = known
            return answer
        return None

    def translate(self, frames: list[bytes]) -> list[bytes]:
        """The request with the names that the server knows."""
        self._asked = None
        return [self._translated(frame) if frame[:1] in b"PBD" else frame for frame in frames]

    def learn(self, answer: bytes) -> None:
        """Store how a statement was described."""
        if self._asked and not wire.sqlstate(answer):
            text, name = self._asked
            self._prepared.known[text] = (name, answer)

    def _translated(self, frame: bytes) -> bytes:
        kind, body = frame[:1], frame[5:]
        if kind == b"P":
            name, text = body.split(b"\0", 1)
            if not name:
                return frame
            self._names[name] = own = b"s%d" % next(_names)
            self._asked = (text, own)
            return wire.message(kind, own + b"\0" + text)
        if kind == b"B":
            portal, name, rest = body.split(b"\0", 2)
            return wire.message(kind, portal + b"\0" + self._names.get(name, name) + b"\0" + rest)
        if kind == b"D" and body[:1] == b"S":
            return wire.message(kind, b"S" + self._names.get(body[1:-1], body[1:-1]) + b"\0")
        return frame  # closing a statement does not close the server's
