"""Image models behind one Protocol: what is asked, what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bookgen.models import SourceType
from bookgen.providers.halt import Halt
from bookgen.providers.text import CallBudget
from bookgen.providers.text import Spent as Spent

PORTRAIT, LANDSCAPE, SQUARE = "1024x1536", "1536x1024", "1024x1024"
WIDE = LANDSCAPE


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One picture. `size`, WIDTHxHEIGHT in pixels, is a wish. `patience`: the seconds that the caller gives a busy
    provider; None, where nobody waits, sits out an outage, and `halt` ends that. `stage` and `chapter_number` name the
    call in errors and in the ledger. `references`: pictures of the figures, which go with it where the provider takes
    any; the prompt says in words what they show. `budget` as in TextRequest."""

    stage: str
    prompt: str
    size: str
    account_id: int
    patience: float | None
    chapter_number: int | None = None
    references: tuple[bytes, ...] = ()
    halt: Halt | None = None
    budget: CallBudget | None = None


@dataclass(frozen=True, slots=True)
class ImageReply:
    """`data` is whatever the provider sent: nobody has looked at it yet. `spent`: all that it has cost."""

    data: bytes
    model: str
    spent: tuple[Spent, ...]


@dataclass(frozen=True, slots=True)
class Painted:
    """A JPEG that was looked at and made anew here, with how it was made and what was paid for it."""

    data: bytes
    width: int
    height: int
    source: SourceType
    paid: tuple[Spent, ...]


class ImageModel(Protocol):
    """Raises UpstreamAIError for every failure and every refusal, after its own retries; its `spent` was paid. Of a
    cancellation `spent_before` tells it."""

    @property
    def name(self) -> str: ...

    async def paint(self, request: ImageRequest) -> ImageReply: ...

    async def close(self) -> None: ...
