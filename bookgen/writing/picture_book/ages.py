"""Limits for texts that children of an age can read."""

from __future__ import annotations

from dataclasses import dataclass

from bookgen.models import AgeRange


@dataclass(frozen=True, slots=True)
class AgeLimits:
    """The limits that suit children of one age, and advice for the prompts.

    `words`: about how many words a spread (two facing pages) has. `lines`: the largest number of lines of a spread.
    `longest`: the largest number of words in a sentence.

    `common`: the lowest Zipf frequency of known words. It is the logarithm of a word's occurrences in a billion words.
    `new`: the share of a text's words that may be less frequent. `story`: advice for planning the book. `manner`:
    advice for writing a spread.
    """

    words: int
    longest: int
    lines: int
    common: float
    new: float
    story: str
    manner: str


_TODDLERS = (
    "One thing after another that can be seen, and a small surprise at the end.",
    "Name what can be seen. Sounds, repetition, a refrain to join in with. The present tense. One clause per "
    "sentence, and no word that is not spoken at home.",
)
_PRESCHOOLERS = (
    "Over the whole book: a small wish, an obstacle, a try, another try, a happy ending.",
    "Things said aloud; a phrase that comes back. Hardly any subordinate clauses.",
)
_FIRST_READERS = (
    "Over the whole book: a plot with cause and consequence.",
    "Dialogue, humour. Sentences that a child can read alone; a new word only where the sentence explains it.",
)
_READERS = (
    "Over the whole book: mixed feelings, a problem that the hero solves by their own efforts.",
    "Dialogue with wit. Exact words rather than many.",
)
AGE_LIMITS = {
    AgeRange.TODDLERS: AgeLimits(14, 8, 3, 3.6, 0.15, *_TODDLERS),
    AgeRange.PRESCHOOLERS: AgeLimits(34, 13, 5, 3.4, 0.15, *_PRESCHOOLERS),
    AgeRange.FIRST_READERS: AgeLimits(70, 18, 8, 3.2, 0.15, *_FIRST_READERS),
    AgeRange.READERS: AgeLimits(120, 26, 12, 3.0, 0.18, *_READERS),
}
