"""Detects a streaming reply that repeats itself without end."""

from __future__ import annotations

MIN_LOOP_CHARACTERS = 600  # that repeat the text before them
MIN_ROUNDS = 3
PROBE = 24  # characters whose previous occurrence gives the length of a round
LOOKED_AT = 6_000  # characters at the end of a reply
LINES, SAME_LINES, MIN_LINE_CHARACTERS = 16, 10, 12  # a loop too: 10 equal lines, not shorter, among the last 16


def first_round(text: str) -> int | None:
    """Return the length of `text` without an endless repetition at its end; None if there is no such repetition.

    The first occurrence of the repeated passage is kept.
    """
    tail = text[-LOOKED_AT:]
    if (repeated := _repeated_length(tail)) is not None:
        return len(text) - repeated
    lines = tail.rstrip().split("\n")[-LINES:]
    line = lines[-1].strip()
    if len(line) >= MIN_LINE_CHARACTERS and sum(each.strip() == line for each in lines) >= SAME_LINES:
        return text.find(line) + len(line)
    return None


def _repeated_length(tail: str) -> int | None:
    """Return how many characters at the end of `tail` repeat earlier characters; None if they are too few to be a loop.

    The last PROBE characters are searched for in the text before them. The distance to their previous occurrence is
    taken as the length of the repeated passage.
    """
    probe = tail[-PROBE:]
    before = tail.rfind(probe, 0, len(tail) - 1)
    if len(probe) < PROBE or before < 0:
        return None
    round_length = len(tail) - PROBE - before
    run = 0
    while run < len(tail) - round_length and tail[-1 - run] == tail[-1 - run - round_length]:
        run += 1
    return run if run >= max(MIN_LOOP_CHARACTERS, MIN_ROUNDS * round_length) else None
