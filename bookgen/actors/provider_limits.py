"""The limits of the model's provider, kept to by all processes of the service together."""

from __future__ import annotations

from bookgen.actors.actor import spawn
from bookgen.actors.resources import Resources
from bookgen.errors import Unavailable
from bookgen.providers.text import Shared
from bookgen.store import notifications


class ProviderLimits:
    """Tells the model how many processes there are, and the others when its provider asks for patience."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._model = resources.model if isinstance(resources.model, Shared) else None
        if self._model:
            self._model.tell_busy(self._tell)

    def count_others(self, others: int) -> None:
        """`others`: the living processes beside this one."""
        self._resources.other_processes = others
        if self._model:
            self._model.share(others + 1)

    def heard(self, name: str, seconds: float) -> None:
        """Another process was told that the provider of the model `name` is busy."""
        if self._model:
            self._model.hold_back(name, seconds)

    def _tell(self, name: str, seconds: float) -> None:
        if self._resources.other_processes:
            spawn(self._notify(name, seconds))

    async def _notify(self, name: str, seconds: float) -> None:
        try:
            await notifications.tell_of_busy(self._resources.pool, name, seconds)
        except Unavailable as error:  # the others will hear it from the provider
            self._resources.health.saw(error)
