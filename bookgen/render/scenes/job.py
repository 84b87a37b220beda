"""What a picture of a children's book is made of, as it crosses to a worker."""

from __future__ import annotations

from dataclasses import dataclass

SIDE = 2625  # pixels: 8.5 inches and a bleed on both sides at 300 to the inch


@dataclass(frozen=True, slots=True)
class SceneJob:
    """A spread's picture. `figures` are told as "name: look", the hero first; `told` says what happens and where."""

    seed: str
    figures: tuple[str, ...]
    told: str
    number: int


@dataclass(frozen=True, slots=True)
class SheetJob:
    """The hero alone, seen three times."""

    seed: str
    figures: tuple[str, ...]
