"""The size of a model's context window, learned from the server's errors and replies."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from bookgen.models import Usage
from bookgen.providers.text import StopReason

SECONDS_UNTIL_FORGOTTEN = 3600.0  # the model may be reloaded with another window
SMALLEST, LARGEST = 256, 10_000_000  # tokens; a reported size outside of these is not a window
UNTOLD = 0.6  # if the server does not report its window, the window is assumed to be this part of what did not fit
AROUND = 32  # tokens that a chat template adds to a prompt
ROUND = 256  # windows are multiples of it; a server that cuts a prompt mostly reads a multiple of 1,024 tokens
READ_AT_ONCE = 1_024
MISCOUNTED = 2  # tokens by which a server's count of a full window may differ from its size
MIN_COMPARED_TOKENS = 200  # a shorter prompt is not compared with the estimate
LIGHTEST, HEAVIEST = 1.0, 4.0  # tokens of a model in one estimated token
CUT, CERTAINLY_CUT = 0.75, 0.3  # of the estimate: a server that counts fewer tokens has not read the whole prompt

_TOLD = re.compile(
    r"maximum context (?:length|window) (?:is|of) (\d+)|n_ctx['\"]?\s*[:=]\s*(\d+)|(\d+) maximum\b|"
    r"context (?:window|length) of (?:only )?(\d+)|must (?:be <=|have less than) (\d+)|"
    r"maximum number of tokens allowed \((\d+)\)|with (\d+) maximum context|context size \((\d+) tokens\)"
)
_PROMPT_TOLD = re.compile(
    r"n_prompt_tokens['\"]?\s*[:=]\s*(\d+)|(\d+) (?:in the messages|in your prompt|input tokens)|given: (\d+) `inputs`|"
    r"prompt contains (\d+) tokens|keep the first (\d+) tokens|prompt is too long: (\d+) tokens"
)


class DoesNotFit(Exception):
    """A prompt and its reply do not fit into `window` tokens, as counted by `words.tokens`.

    `usage`: what the failed call used.
    """

    def __init__(self, window: int, usage: Usage | None = None) -> None:
        super().__init__(f"the context window holds some {window} tokens")
        self.window, self.usage = window, usage or Usage()


class ContextWindow:
    """The size of a context window.

    It is unknown until a server rejects a prompt, reads only a part of it, or ends a reply at the end of the window.

    `self_hosted`: whether the server is the operator's own. For a cloud provider `answered` learns nothing, because the
    token counts that it reports say nothing about the window.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, self_hosted: bool = True) -> None:
        self._clock, self._self_hosted = clock, self_hosted
        self._size: int | None = None  # in the model's own tokens
        self._until = 0.0
        self._weight = LIGHTEST  # the model's own tokens in one estimated token
        self._held, self._held_until = 0, 0.0  # the most tokens that a prompt and its reply had together

    @property
    def size(self) -> int | None:
        if self._size is not None and self._clock() >= self._until:
            self._size = None
        return self._size

    @property
    def estimated(self) -> int | None:
        """The size of the window in estimated tokens, as counted by `words.tokens`; None if it is unknown."""
        return None if self.size is None else int((self.size - AROUND) / self._weight)

    def room(self, prompt: int) -> int | None:
        """Return the tokens left for the reply, given the prompt's estimated tokens; None if the window is unknown."""
        return None if self.size is None else self.size - AROUND - int(prompt * self._weight)

    def check(self, prompt: int, reply: int) -> None:
        """Raise DoesNotFit if the prompt and the reply, in estimated tokens, exceed the known window."""
        if self.estimated is not None and prompt + reply > self.estimated:
            raise DoesNotFit(self.estimated)

    def refused(self, words: str, prompt: int, reply: int) -> DoesNotFit:
        """Learn the size of the window from the error of a request that was too long. Return the exception to raise.

        `words`: the text of the error. `prompt`, `reply`: the estimated tokens of the prompt and of the longest reply.
        """
        size = _number(_TOLD, words)
        if (counted := _number(_PROMPT_TOLD, words)) and prompt >= MIN_COMPARED_TOKENS:
            self._weigh(counted / prompt)
        if size is None or not SMALLEST <= size <= LARGEST:
            size = int((prompt + reply) * self._weight * UNTOLD)
        elif prompt + reply <= (size - AROUND) / self._weight:
            self._weigh(size / (prompt + reply) * 1.1)  # it should have fitted: the text has more tokens than estimated
        self._learn(size)
        return DoesNotFit(self.estimated or size)

    def answered(self, prompt: int, usage: Usage, asked: int, stop: StopReason | None) -> DoesNotFit | None:
        """Learn the size of the window from a reply.

        Return the exception to raise if the server read only a part of the prompt, otherwise None.

        `prompt`: the estimated tokens of the prompt. `usage`: the usage that the server reported. `asked`: how many
        tokens, as the model counts them, the reply could have at most. `stop`: why the reply ended.
        """
        read = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        if not self._self_hosted or not usage.calls or prompt < MIN_COMPARED_TOKENS or not read:
            return None
        if read < prompt * CERTAINLY_CUT or (read < prompt * CUT and read % READ_AT_ONCE == 0):
            self._learn(read)
            return DoesNotFit(self.estimated or read)
        self._weigh(read / prompt)
        used = read + usage.output_tokens
        size = round(used / ROUND) * ROUND
        # A window that has held more tokens than this is larger, so the reply was cut for another reason.
        ends_window = abs(used - size) <= MISCOUNTED and self._held_lately() <= size + MISCOUNTED
        if stop is StopReason.LENGTH and usage.output_tokens < asked - 1 and ends_window:
            self._learn(size)
        self._hold(used)
        return None

    def _learn(self, size: int) -> None:
        self._size, self._until = size, self._clock() + SECONDS_UNTIL_FORGOTTEN

    def _hold(self, tokens: int) -> None:
        if tokens >= self._held_lately():
            self._held, self._held_until = tokens, self._clock() + SECONDS_UNTIL_FORGOTTEN

    def _held_lately(self) -> int:
        return self._held if self._clock() < self._held_until else 0

    def _weigh(self, weight: float) -> None:
        """Record how many of the model's own tokens one estimated token stands for. The largest value is kept.

        If the value could fall again, the same request would be built differently at a later time.
        """
        self._weight = min(max(self._weight, weight), HEAVIEST)


def _number(pattern: re.Pattern[str], words: str) -> int | None:
    found = pattern.search(words)
    return int(next(filter(None, found.groups()))) if found else None
