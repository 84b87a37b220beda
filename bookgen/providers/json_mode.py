"""The ways to ask a server for JSON: with a schema, in its JSON mode, or only in the prompt."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

SECONDS_UNTIL_ASKED_AGAIN = 3600.0
REFUSALS = frozenset({400, 415, 422, 500, 501})  # statuses that may reject a mode, whatever the message says
NAMED_REFUSALS = REFUSALS | {404, 405}  # statuses that reject it if the message is about the mode


class JsonMode(StrEnum):
    SCHEMA = "schema"
    OBJECT = "JSON mode"
    PROMPT = "prompt"


class JsonLadder:
    """Decides how to ask a server for JSON: at first with a schema, then in a plainer mode after each rejection.

    One hour after a plainer mode has first worked, the mode with a schema is tried again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._mode = self._answered = JsonMode.SCHEMA
        self._proven = False  # whether a call in this mode was answered
        self._until = float("inf")

    @property
    def mode(self) -> JsonMode:
        if self._clock() >= self._until:
            self._mode, self._proven, self._until = JsonMode.SCHEMA, False, float("inf")
        return self._mode

    def step_down(self, status: int | None, *, named: bool) -> bool:
        """Switch to the next plainer mode after a failed call, if the server may have rejected the current mode.

        Return whether the mode was switched. `status`: the HTTP status of the call. `named`: whether the server's error
        message mentions the mode.
        """
        if self._mode is JsonMode.PROMPT or status not in (NAMED_REFUSALS if named else REFUSALS):
            return False
        if self._proven and not named:
            return False
        modes = list(JsonMode)
        self._mode, self._proven = modes[modes.index(self._mode) + 1], False
        return True

    def confirm(self) -> None:
        """Record that the server answered in the current mode, which therefore stays in use."""
        if not self._proven and self._mode is not JsonMode.SCHEMA:
            self._until = self._clock() + SECONDS_UNTIL_ASKED_AGAIN
        self._answered, self._proven = self._mode, True

    def abandon(self) -> None:
        """Go back to the last mode that worked.

        Called after a plainer mode has failed as well, which shows that the mode did not cause the failure.
        """
        if not self._proven:
            self._mode = self._answered
