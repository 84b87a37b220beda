"""What an operator's command is to the actors: a process that steers runs and writes none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import asyncpg

from bookgen.billing.quota import Quota
from bookgen.providers.text import CALL_SECONDS


@dataclass(frozen=True, slots=True)
class OperatorProcess:
    """Implements `resources.Deciding`. A run that goes on is left without an owner: a serving process claims it."""

    pool: asyncpg.Pool
    quota: Quota
    boot_id: UUID = field(default_factory=uuid4)
    serves: bool = False
    takes_runs: bool = False
    call_seconds: float = CALL_SECONDS
    blurb_asked: asyncio.Event = field(default_factory=asyncio.Event)
