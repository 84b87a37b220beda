"""The time limits of a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. `total` bounds the whole call, the others its parts."""

    connect: float = 10
    first_byte: float = 60
    idle: float = 30
    total: float = 180

    @classmethod
    def of(cls, total: float) -> Deadlines:
        """Return deadlines in the usual proportions: 10, 60 and 30 of 180 seconds."""
        return cls(connect=min(10, total), first_byte=total / 3, idle=total / 6, total=total)
