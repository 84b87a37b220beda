"""The time limits of a model call. Unless the operator sets them, they follow from the measured speed of the model."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.providers.text import ShownSpeed

SLACK = 4.0  # the deadline of a first word, in times the longest measured wait per prompt token
UNSEEN_FIRST_BYTE = 600.0  # seconds, for a local server that has not answered yet
MIN_IDLE_SECONDS = 120.0  # on a local server another call's prompt may delay a reply
MAX_FIRST_BYTE_SECONDS = 3_600.0
MIN_SPEED = 1.0  # tokens a second, assumed for a local server until it is measured
CLOUD_SPEED = 30.0
SHARE = 0.5  # the part of the measured speed that deadlines rely on
MEMORY = 0.3  # weight of the newest call in the mean


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Time limits in seconds: to connect, for the first byte, for silence within a reply, and for the whole call."""

    connect: float = 10
    first_byte: float = 60
    idle: float = 30
    total: float = 180

    @classmethod
    def of(cls, total: float) -> Deadlines:
        """Return the time limits of a call that may take `total` seconds.

        The first byte must arrive within a third of this time. Silence within the reply may last a sixth of it.
        Connecting may take up to 10 s.
        """
        return cls(connect=min(10, total), first_byte=total / 3, idle=total / 6, total=total)


class Speed:
    """The speed of a model, measured from its calls, and the deadlines that follow from this speed.

    `usual`: the shortest deadlines; a slow model gets longer ones. `self_hosted`: whether the model runs on a server of
    the operator, not in a known cloud. Such a server gets long deadlines until its speed is measured.
    """

    def __init__(self, usual: Deadlines, *, self_hosted: bool) -> None:
        self._usual, self._self_hosted = usual, self_hosted
        self._per_token: float | None = None  # longest seconds per prompt token until the first word
        self._speed: float | None = None  # tokens a second
        self._reading: float | None = None  # mean seconds per prompt token until the first word
        self._wait: float | None = None  # mean seconds until the first word
        self._silences = 0

    @property
    def shown(self) -> ShownSpeed | None:
        return None if self._speed is None else ShownSpeed(self._speed, self._reading or 0.0, self._wait or 0.0)

    def deadlines(self, prompt_tokens: int, max_tokens: int, others: int) -> Deadlines:
        """Return the deadlines of a call while `others` other calls are in flight.

        For a local server, the limits for the first byte and for silence double after each call that got no response,
        until a call is answered.
        """
        first, idle = self._usual.first_byte, self._usual.idle
        if self._self_hosted:
            shown = SLACK * self._per_token * prompt_tokens if self._per_token is not None else UNSEEN_FIRST_BYTE
            patience = 2.0**self._silences
            first = min(max(first, shown) * patience, MAX_FIRST_BYTE_SECONDS)
            idle = min(max(idle, MIN_IDLE_SECONDS) * patience, MAX_FIRST_BYTE_SECONDS)
        speed = self._speed * SHARE if self._speed else MIN_SPEED if self._self_hosted else CLOUD_SPEED
        if self._self_hosted and others:  # a server with one slot answers them first
            first += max_tokens / speed
        total = max(self._usual.total, first + max_tokens / speed)
        return Deadlines(self._usual.connect, first, idle, total)

    def answered(self, prompt_tokens: int, waited: float, tokens: int, seconds: float) -> None:
        """Record a call: `waited` seconds until the first word, then `tokens` tokens in `seconds`.

        `prompt_tokens`: the length of the prompt, or 0 if other calls may have delayed this call.
        """
        self._silences = 0
        if prompt_tokens:
            self._per_token = max(self._per_token or 0.0, waited / prompt_tokens)
            self._reading = _mean(self._reading, waited / prompt_tokens)
        if tokens > 1 and seconds > 0:
            self._wait = _mean(self._wait, waited)
            self._speed = _mean(self._speed, tokens / seconds)

    def kept_silent(self) -> None:
        self._silences = min(self._silences + 1, 4)


def _mean(before: float | None, seen: float) -> float:
    return seen if before is None else before + MEMORY * (seen - before)
