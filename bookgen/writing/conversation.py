"""The turns of the conversation that writes a chapter. If the turns get too long for the window, they are shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookgen.providers.text import Message
from bookgen.words import tokens
from bookgen.writing import sentences
from bookgen.writing.blocks import paragraphs
from bookgen.writing.window import clip

MAX_TOKENS = 14_000  # enough for nearly every whole chapter; a thinking model needs room as well
GIST = 250  # tokens that a stretch is reduced to
SHORTENED = 0.6  # of the tokens that fit; the rest is left for further calls with the same cached prefix
END = 2_500  # tokens of the last stretch that are kept
MIN_END_TOKENS = 80  # … even in a small window
LEFT_OUT = "[This stretch is in the chapter; only the beginnings of its paragraphs are shown here.] "
CUT_OFF = "[…] "


def marked(turns: Sequence[Message]) -> tuple[Message, ...]:
    """The turns, with a cache mark at the end of the prefix that the previous call left in the cache."""
    return tuple(replace(turn, cache=place == len(turns) - 2) for place, turn in enumerate(turns))


def within(turns: Sequence[Message], most: int) -> tuple[Message, ...]:
    """The turns, shortened to about `most` tokens, the oldest replies first.

    If that is not enough, only the end of the last reply is kept, and then the oldest turns are removed. The first turn
    holds the chapter's task and always stays whole.
    """
    kept = list(turns)
    if _size(kept) <= most:
        return tuple(kept)
    last = max((place for place, turn in enumerate(kept) if turn.role == "assistant"), default=0)
    for place, turn in enumerate(kept[:last]):
        if turn.role == "assistant" and _size(kept) > most * SHORTENED:
            kept[place] = Message("assistant", _gist(turn.text))
    if last and _size(kept) > most:
        room = max(most - tokens(kept[0].text), MIN_END_TOKENS)
        kept[last] = Message("assistant", _end(kept[last].text, min(END, room)))
    while _size(kept) > most and len(kept) > 3:
        del kept[1:3]
    return tuple(kept)


def is_whole(turns: Sequence[Message]) -> bool:
    return not any(turn.text.startswith((LEFT_OUT, CUT_OFF)) for turn in turns)


def _size(turns: Sequence[Message]) -> int:
    return sum(tokens(turn.text) for turn in turns)


def _gist(text: str) -> str:
    if text.startswith(LEFT_OUT):
        return text
    openings = (sentences.split(paragraph)[:1] for paragraph in paragraphs(text))
    return clip(LEFT_OUT + " ".join(opening[0] for opening in openings if opening), GIST)


def _end(text: str, most: int) -> str:
    size = tokens(text)
    return text if size <= most else CUT_OFF + text[-(len(text) * most // size) :]
