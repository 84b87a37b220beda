"""The base class of image models, their requests and their replies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from bookgen.models import SourceType
from bookgen.providers.halt import Halt, Outage
from bookgen.providers.text import CallBudget
from bookgen.providers.text import Spent as Spent

PORTRAIT, LANDSCAPE, SQUARE = "1024x1536", "1536x1024", "1024x1024"
WIDE = LANDSCAPE


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A request for one picture.

    - `size`: WIDTHxHEIGHT in pixels. The provider may choose another size.
    - `patience`, `halt`, `budget`, `stage` and `chapter_number`: as in TextRequest.
    - `references`: pictures of the characters, for providers that accept some. The prompt also describes them.
    """

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
    """`data`: the unchecked bytes from the provider. `spent`: the calls that were paid for it, failed ones too."""

    data: bytes
    model: str
    spent: tuple[Spent, ...]


@dataclass(frozen=True, slots=True)
class Painted:
    """A checked and re-encoded JPEG, with how it was made and the calls that were paid for it."""

    data: bytes
    width: int
    height: int
    source: SourceType
    paid: tuple[Spent, ...]


class ImageModel(ABC):
    """The base of every image model."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in settings, the ledger of costs and the price table."""

    @abstractmethod
    async def paint(self, request: ImageRequest) -> ImageReply:
        """Return a picture, after the model's own retries. Every failure and refusal is an UpstreamAIError.

        The error's `spent` lists the calls that were paid for. After a cancellation, `spent_before` returns them.
        """

    @property
    def outage(self) -> Outage | None:
        """The current outage, which runs wait for; None if there is none."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        return
