"""A row of the table, and the size of the measurement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    what: str
    protocol: str
    measured: str
    bar: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Size:
    chapters: int
    words: int
    replies: int
    books: int
