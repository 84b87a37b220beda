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
    - `references`: pictures of the characters. A provider that accepts no pictures relies on the prompt, which also
      describes the characters.
    - `stage` and `chapter_number` identify the call in errors and in the ledger of costs.
    - `account_id`: the account of the book. When calls have to wait, accounts take turns.
    - `patience`: how many seconds to wait for a provider that is busy or cannot be reached; None: as long as the
      model's settings say. Setting `halt` ends the wait.
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
    """A picture as the provider sent it; `data` is unchecked. `spent`: the calls that cost money, even failed ones."""

    data: bytes
    model: str
    spent: tuple[Spent, ...]


@dataclass(frozen=True, slots=True)
class PaidPicture:
    """A picture, checked and re-encoded as JPEG. `source`: how it was made. `paid`: the model calls that cost money."""

    data: bytes
    width: int
    height: int
    source: SourceType
    paid: tuple[Spent, ...]


class ImageModel(ABC):
    """A model that makes pictures from prompts. Each provider has a subclass with its own `name` and `paint`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in settings, the ledger of costs and the price table."""

    @abstractmethod
    async def paint(self, request: ImageRequest) -> ImageReply:
        """Return a picture. Raises UpstreamAIError if the model refuses, or if all retries fail.

        The error's `spent` lists the calls that cost something. If `paint` is cancelled, pass the CancelledError to
        `text.spent_before` to get these calls.
        """

    @property
    def outage(self) -> Outage | None:
        """The current outage of the provider; None if there is none. Runs (the writing of books) wait until it ends."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        return
