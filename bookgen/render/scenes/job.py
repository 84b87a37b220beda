"""What a picture of a children's book is made of, as it crosses to a worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

SIDE = 2625  # pixels: 8.5 inches and a bleed on both sides at 300 to the inch


@dataclass(frozen=True, slots=True)
class SceneJob:
    """A spread's picture. `figures` are told as "name: look", the hero first; `told` says what happens and where.

    `picture`: a file from outside, instead of a drawing of ours.
    """

    seed: str
    figures: tuple[str, ...]
    told: str
    number: int
    picture: bytes | None = None

    def of_picture(self, picture: bytes) -> Self:
        return replace(self, picture=picture)


@dataclass(frozen=True, slots=True)
class SheetJob:
    """The hero alone, seen three times."""

    seed: str
    figures: tuple[str, ...]
    picture: bytes | None = None

    def of_picture(self, picture: bytes) -> Self:
        return replace(self, picture=picture)
