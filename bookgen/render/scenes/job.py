"""The requests for pictures of a children's book that go to a worker."""

from __future__ import annotations

from dataclasses import dataclass

SIDE = 2625  # pixels; 8.5 inches plus bleed on both sides, at 300 dpi


@dataclass(frozen=True, slots=True)
class SceneJob:
    """A request for a spread's picture.

    `figures` are descriptions "name: look", the hero first. `story_text` is the text of what happens and where.
    """

    seed: str
    figures: tuple[str, ...]
    story_text: str
    number: int


@dataclass(frozen=True, slots=True)
class SheetJob:
    """A request for a character sheet: the hero in three poses."""

    seed: str
    figures: tuple[str, ...]
