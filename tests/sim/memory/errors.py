"""The errors that a server tells of."""

from __future__ import annotations

from tests.sim import wire


class SqlError(Exception):
    """What a statement ends with. `constraint`: which one it met. `routine`: by which of its own the server says it."""

    def __init__(self, sqlstate: str, text: str, constraint: str = "", table: str = "", routine: str = "") -> None:
        super().__init__(f"{sqlstate}: {text}")
        self.sqlstate = sqlstate
        self.text = text
        self.constraint = constraint
        self.table = table
        self.routine = routine

    def frame(self) -> bytes:
        more = f"t{self.table}\0n{self.constraint}\0" if self.constraint else ""
        more += f"R{self.routine}\0" if self.routine else ""
        body = f"SERROR\0VERROR\0C{self.sqlstate}\0M{self.text}\0{more}\0"
        return wire.message(wire.FAILURE, body.encode())
