"""Prepared statements that outlive their clients: to plan one anew for each connection takes longer than all else.

A client hears what it would hear from a server of its own. What it prepares has another name at the server, under which
the next client of the same session finds it again, as long as no migration has come between.
"""

from __future__ import annotations

import itertools

from tests.sim import wire

_names = itertools.count(1)


class Prepared:
    """What the statements of a session are called and how they were described, by their text."""

    def __init__(self) -> None:
        self.known: dict[bytes, tuple[bytes, bytes]] = {}


class Statements:
    """The statements of one client, by its own names for them."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._names: dict[bytes, bytes] = {}
        self._asked: tuple[bytes, bytes] | None = None

    def answer(self, frames: list[bytes]) -> bytes | None:
        """What is known already of a statement that the client prepares."""
        if [frame[:1] for frame in frames] != [b"P", b"D", b"H"]:
            return None
        name, text = frames[0][5:].split(b"\0", 1)
        if known := self._prepared.known.get(text):
            self._names[name], answer = known
            return answer
        return None

    def translate(self, frames: list[bytes]) -> list[bytes]:
        """The request in the names that the server knows."""
        self._asked = None
        return [self._translated(frame) if frame[:1] in b"PBD" else frame for frame in frames]

    def learn(self, answer: bytes) -> None:
        """Keeps how a statement was described."""
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
        return frame  # a client that closes a statement closes none of the server's
