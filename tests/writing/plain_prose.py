"""Plain prose about a fixed cast, of any length."""

from __future__ import annotations

import random

from bookgen.words import count_words

NAMES = ("Mara", "Tobias", "Ines", "Oskar", "Petra", "Nora Falk", "Elias", "the harbour master", "a stranger")
DOES = ("opened the door", "poured the tea", "laughed", "looked up", "walked to the quay", "said nothing", "sat down")
WHEN = ("at dusk", "after the rain", "before anybody was awake", "for the third time", "in 1954", "with some care")
AND = (
    "while the {colour} light lay on the water",
    "and the dog with the {colour} coat lay down",
    "because {number} boats were still out",
    "as the {colour} curtain moved",
    "and counted {number} steps to the gate",
    "though the man with {colour} eyes did not turn round",
    "and {other} nodded",
    "and the house, built in {year}, creaked",
    "and her hair was wet",
    "since the letter from {year} had not been answered",
    "and gave {other} the {colour} scarf",
)
COLOURS = ("red", "blue", "green", "black", "white", "brown", "grey", "golden")


def plain_prose(words: int) -> str:
    """About `words` words."""
    rng = random.Random(words)
    said: list[str] = []
    written = 0
    while written < words:
        said.append(_sentence(rng))
        written += count_words(said[-1])
    rng.shuffle(said)
    return "\n\n".join(" ".join(said[start : start + 6]) for start in range(0, len(said), 6))


def _sentence(rng: random.Random) -> str:
    name = rng.choice(NAMES)
    more = rng.choice(AND).format(
        colour=rng.choice(COLOURS), number=rng.randint(2, 90), year=rng.randint(1850, 1990), other=rng.choice(NAMES)
    )
    text = f"{name} {rng.choice(DOES)} {rng.choice(WHEN)}, {more}."
    return text[0].upper() + text[1:]
