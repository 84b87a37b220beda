"""Lengths: a book over its chapters, a chapter over its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.writing.language import ProseLanguage
from bookgen.writing.window import WINDOW

PART_WORDS = 800  # a part is asked for in 600 to 1,000 words: models keep such a length, and keep the thread
MOST_PART_WORDS = 1_000
REPLY_SHARE, REPLY_SLACK = 0.27, 1.25  # of a small window; of the tokens that the words asked for take
NEAR_ENOUGH = 0.04  # of a chapter's budget: not worth another call
OVERLONG = 0.06  # of a chapter's budget: cut at a sentence end
CLOSING_WORDS = 60
CARRY = 0.03  # of a chapter's budget: how far it makes up for the length of those before it


def spread(total: int, count: int) -> list[int]:
    """`total` over `count` as evenly as whole numbers allow; the sum is exact."""
    base, extra = divmod(total, count)
    # The longer ones stand evenly among the others.
    return [base + ((index + 1) * extra // count - index * extra // count) for index in range(count)]


@dataclass(frozen=True, slots=True)
class Lengths:
    """What one call may be asked for: `part` words on the whole, `longest` at most, `reply` tokens for them."""

    part: int
    longest: int
    reply: int | None = None

    @classmethod
    def within(cls, window: int, lang: ProseLanguage) -> Lengths:
        """A reply has a share of a window of so many tokens, and room to be longer than it was asked for."""
        if window >= WINDOW:
            return USUAL
        reply = int(window * REPLY_SHARE)
        longest = min(max(int(reply / lang.tokens_per_word / REPLY_SLACK), 1), MOST_PART_WORDS)
        return cls(min(longest, PART_WORDS), longest, reply)


USUAL = Lengths(PART_WORDS, MOST_PART_WORDS)


@dataclass(frozen=True, slots=True)
class Part:
    """The next call of a chapter: `words` wanted, `ask` what to ask for, `number` of `count` parts."""

    number: int
    count: int
    words: int
    ask: int


@dataclass(slots=True)
class Pace:
    """What a model does with the lengths that it is asked for, learned within a chapter."""

    asked: int = 200  # as if it had kept one short length already: a single reply is no proof
    wrote: int = 200

    def learn(self, asked: int, wrote: int) -> None:
        self.asked += asked
        self.wrote += wrote

    def ask_for(self, words: int) -> int:
        ratio = self.wrote / self.asked
        return round(words / min(max(ratio, 0.25), 1.8))


def next_part(aim: int, written: int, done: int, pace: Pace, lengths: Lengths = USUAL) -> Part | None:
    """The part that comes after `done` parts and `written` words, or None when the chapter is long enough."""
    missing = aim - written
    if written and missing <= aim * NEAR_ENOUGH:
        return None
    parts = max(-(-missing // lengths.longest), round(missing / lengths.part), 1)
    words = max(-(-missing // parts), 1)
    return Part(done + 1, done + parts, words, max(pace.ask_for(words), 1))


def closing_part(aim: int, written: int, done: int) -> Part | None:
    """A few sentences to end a chapter that is long enough but broke off; None when it is longer than that."""
    if written > aim * (1 + NEAR_ENOUGH):
        return None
    words = max(aim - written, min(CLOSING_WORDS, aim // 10), 1)
    return Part(done + 1, done + 1, words, words)


def most_calls(aim: int, lengths: Lengths = USUAL) -> int:
    """The bound on a chapter's writing calls, whatever the model does."""
    return 2 * max(round(aim / lengths.part), 1) + 4


def aim_for(chapter: Chapter, chapters: Sequence[Chapter]) -> int:
    """The chapter's budget, corrected by what the model's chapters before it are over or under theirs."""
    budget = max(chapter.target_word_count, 1)
    ahead = sum(
        earlier.word_count - earlier.target_word_count
        for earlier in chapters
        # A text far from its budget is its author's will, not the model's drift.
        if earlier.chapter_number < chapter.chapter_number
        and earlier.word_count
        and abs(earlier.word_count - earlier.target_word_count) <= earlier.target_word_count * 0.1
    )
    most = round(budget * CARRY)
    return budget - max(-most, min(most, ahead))
