"""Image models behind one Protocol: what is asked, what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bookgen.models import Usage
from bookgen.providers.text import Spent as Spent

PORTRAIT, LANDSCAPE = "1024x1536", "1536x1024"


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One picture. `size`, WIDTHxHEIGHT in pixels, is a wish. `patience`: the seconds that the caller gives a busy
    provider. `stage` and `chapter_number` name the call in errors and in the ledger."""

    stage: str
    prompt: str
    size: str
    account_id: int
    patience: float
    chapter_number: int | None = None


@dataclass(frozen=True, slots=True)
class ImageReply:
    """`data` is whatever the provider sent: nobody has looked at it yet. `also`: calls before it that broke."""

    data: bytes
    usage: Usage
    model: str
    also: tuple[Spent, ...] = ()


class ImageModel(Protocol):
    """Raises UpstreamAIError for every failure and every refusal, after its own retries; its `spent` was paid."""

    @property
    def name(self) -> str: ...

    async def paint(self, request: ImageRequest) -> ImageReply: ...

    async def close(self) -> None: ...
