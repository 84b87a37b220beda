"""How long a server may take for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. `total` bounds a call; the others are its parts."""

    connect: float = 10
    first_byte: float = 60
    idle: float = 30
    total: float = 180

    @classmethod
    def of(cls, total: float) -> Deadlines:
        """The usual parts of a total: 10, 60 and 30 of 180. A slower server is given more of everything."""
        return cls(connect=min(10, total), first_byte=total / 3, idle=total / 6, total=total)
