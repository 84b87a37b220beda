"""The actors that are resident in this process, by key. Knows no books."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from bookgen.actors.actor import Actor

Key: TypeAlias = tuple[int, int]  # account and book
A = TypeVar("A", bound=Actor)


class Registry(Generic[A]):
    """Finds actors, and makes one where there is none. Actors know each other by their keys alone."""

    def __init__(self, make: Callable[[Key], A]) -> None:
        self._make = make
        self._actors: dict[Key, A] = {}

    def __len__(self) -> int:
        return len(self._actors)

    def __iter__(self) -> Iterator[A]:
        return iter(list(self._actors.values()))

    def find(self, key: Key) -> A | None:
        return self._actors.get(key)

    def find_or_make(self, key: Key) -> A:
        if (actor := self._actors.get(key)) is None:
            actor = self._actors[key] = self._make(key)
        return actor

    def tell(self, key: Key, message: Any) -> None:
        self.find_or_make(key).tell(message)

    def remove(self, key: Key, actor: Actor) -> None:
        """Forgets this very actor."""
        if self._actors.get(key) is actor:
            del self._actors[key]

    def clear(self) -> None:
        self._actors.clear()

    def passivate(self, unused_since: float) -> None:
        """Forgets actors that have nothing to do and were told nothing since then, by the loop's clock."""
        for key, actor in list(self._actors.items()):
            if actor.idle and actor.last_told < unused_since:
                del self._actors[key]
