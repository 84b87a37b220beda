"""The base class of image models, their requests and their replies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from bookgen.models import SourceType
from bookgen.providers.halt import HaltSwitch, Outage
from bookgen.providers.text import CallBudget
from bookgen.providers.text import Spent as Spent

PORTRAIT, LANDSCAPE, SQUARE = "1024x1536", "1536x1024", "1024x1024"
WIDE = LANDSCAPE


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A request for one picture.

    - `size`: WIDTHxHEIGHT in pixels. The provider may choose another size.
    - `references`: pictures of the characters, for providers that accept some. The prompt also describes them.
    - `stage` and `chapter_number` identify the call in errors and in the ledger of costs.
    - `account_id`: accounts take turns when calls have to wait.
    - `patience`: how many seconds to wait for a provider that is busy or cannot be reached; None: as long as the
      model's settings say. `halt` ends the wait.
    - `budget` reserves the cost of each try.
    """

    stage: str
    prompt: str
    size: str
    account_id: int
    patience: float | None
    chapter_number: int | None = None
    references: tuple[bytes, ...] = ()
    halt: HaltSwitch | None = None
    budget: CallBudget | None = None


@dataclass(frozen=True, slots=True)
class ImageReply:
    """A picture as the provider sent it; `data` is unchecked. `spent`: the calls that it cost, even failed ones."""

    data: bytes
    model: str
    spent: tuple[Spent, ...]


@dataclass(frozen=True, slots=True)
class PaidPicture:
    """A picture, checked and re-encoded as JPEG. `source`: how it was made. `paid`: the model calls that it cost."""

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
        """Return a picture. The model retries by itself; raises UpstreamAIError if it fails or refuses in the end.

        The error's `spent` lists the calls that cost something. If this is cancelled, `text.spent_before` returns them.
        """

    @property
    def outage(self) -> Outage | None:
        """The current outage, which runs wait for; None if there is none."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        return
