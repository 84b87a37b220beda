"""Divide a model's context window among the parts of a prompt, and shrink these parts for a small window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from bookgen.providers.text import PromptTooLong
from bookgen.words import tokens

T = TypeVar("T")

WINDOW = 32_000  # tokens: a book with any number of chapters must be writable in a context of this size
# The sizes used for smaller windows. There are few steps, so that an interrupted run repeats the same requests and
# finds its stored replies, even if more has been learned about the window.
SMALLER = (24_000, 15_200, 11_400, 7_600, 5_700, 4_600, 3_800, 3_000, 2_400, 1_900, 1_500, 1_200)
# The sizes used for larger windows. The part beyond WINDOW holds the text of earlier chapters.
LARGER = (500_000, 200_000, 128_000, 96_000, 64_000, 48_000, WINDOW)
SMALL = 6_000  # tokens: in a smaller window, prompts are brief and have only the necessary parts
SHARE = 0.6  # the parts shrink by this factor more than the window, because the fixed text of a prompt does not shrink


def smaller(window: int, refused: PromptTooLong) -> int:
    """The next smaller window to try after the model has refused a call as too long.

    `window`: the window of that call. `refused`: the error of that call, which is raised again if there is no smaller
    window.
    """
    fits = min(refused.window, window - 1)
    for size in (*LARGER, *SMALLER):
        if size <= fits:
            return size
    raise refused


async def fitted(call: Callable[[int], Awaitable[T]], window: int = WINDOW) -> T:
    """The result of `call` with the largest window that the model accepts, starting from `window`.

    Raises PromptTooLong if the model accepts none.
    """
    while True:
        try:
            return await call(window)
        except PromptTooLong as refused:
            window = smaller(window, refused)


def scaled(usual: int, window: int) -> int:
    """The number of tokens for a part of a prompt in a context window of `window` tokens.

    `usual`: the number in a window of WINDOW tokens or more.
    """
    return usual if window >= WINDOW else round(usual * SHARE * window / WINDOW)


def clip(text: str, most: int) -> str:
    """`text`, cut between words to about `most` tokens if it is longer."""
    if tokens(text) <= most:
        return text
    kept = text[: max(1, len(text) * most // max(tokens(text), 1))]
    return (kept.rsplit(" ", 1)[0] if " " in kept else kept).rstrip(" ,;:") + " …"
