"""Lengths: a book over its chapters, a chapter over its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.writing.language import ProseLanguage
from bookgen.writing.window import WINDOW

MAX_CALL_WORDS = 4_000  # a strong model writes this much in one go without losing the thread
PART_WORDS, MAX_PART_WORDS = 800, 1_000  # for a model that has shown that it needs parts, or has a small window
MAX_REPLY_TOKENS, MIN_REPLY_TOKENS = 16_000, 4_000  # what current models can send in one reply; what a part takes
REPLY_SHARE = 0.27  # of a small window that a reply may take
REPLY_SLACK, LONG_REPLY_SLACK = 1.25, 1.1  # room in a reply, as a multiple of the words asked for

MIN_WHOLE_SHARE = 0.6  # a text that ends by itself with less of what was asked for is only a part of its chapter
RUNAWAY_SHARE = 1.6  # of its length: a longer chapter is asked for once more, told more tightly
RUNAWAY_SLACK_WORDS = 60  # so that a few sentences too many are no runaway in a tiny chapter
CLOSING_WORDS = 60  # to end a chapter that broke off at its full length
CLOSING_SHARE = 0.1  # of its aim: to end a chapter that is full before its last part

MAX_BEND = 0.25  # of a chapter's budget: how far it makes up for the length of the chapters before it
MODEL_DRIFT = (0.45, 1.7)  # of its budget: a chapter outside this range has the length that its author gave it


def spread(total: int, count: int) -> list[int]:
    """Split `total` into `count` nearly equal whole numbers whose sum is exact."""
    base, extra = divmod(total, count)
    # The longer ones stand evenly among the others.
    return [base + ((index + 1) * extra // count - index * extra // count) for index in range(count)]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Words that one call is usually asked for (`part`) and at most (`longest`); `reply` bounds its tokens."""

    part: int
    longest: int
    reply: int

    @classmethod
    def within(cls, window: int, lang: ProseLanguage, *, in_parts: bool = False, taken: int = 0) -> Lengths:
        """The lengths for a context window of `window` tokens, of which the prompt takes `taken`."""
        if window < WINDOW:
            reply = int(window * REPLY_SHARE)
            longest = min(max(int(reply / lang.tokens_per_word / REPLY_SLACK), 1), MAX_PART_WORDS)
            return cls(min(longest, PART_WORDS), longest, reply)
        reply = max(min(MAX_REPLY_TOKENS, window - taken), MIN_REPLY_TOKENS)
        if in_parts:
            return cls(PART_WORDS, MAX_PART_WORDS, reply)
        longest = min(int(reply / lang.tokens_per_word / LONG_REPLY_SLACK), MAX_CALL_WORDS)
        return cls(longest, longest, reply)


@dataclass(frozen=True, slots=True)
class Part:
    """The next call of a chapter: `words` wanted, `ask` the number in the prompt, `number` of `count` parts."""

    number: int
    count: int
    words: int
    ask: int

    @property
    def is_last(self) -> bool:
        return self.number == self.count


@dataclass(frozen=True, slots=True)
class Goal:
    """The words that a chapter is to have (`aim`), beside its `budget`, and the number that gets them (`ask`)."""

    budget: int
    aim: int
    ask: int

    @property
    def min_whole_words(self) -> float:
        """A text with as many words that came to its own end is the whole chapter."""
        return min(self.aim, self.ask) * MIN_WHOLE_SHARE

    def pace(self) -> Pace:
        return Pace(asked=200, wrote=200 * self.aim / self.ask)


@dataclass(slots=True)
class Pace:
    """The words that a model writes for each word that it is asked for.

    It starts as if the model had kept one short length already: a single reply proves little.
    """

    asked: float = 200
    wrote: float = 200

    def learn(self, asked: float, wrote: float) -> None:
        self.asked += asked
        self.wrote += wrote

    def ask_for(self, words: int) -> int:
        ratio = self.wrote / self.asked
        return max(round(words / min(max(ratio, 0.25), 1.8)), 1)


def next_part(goal: Goal, written: int, done: int, pace: Pace, lengths: Lengths, *, ended: bool) -> Part | None:
    """The call that follows `done` parts with `written` words; None when the chapter is finished.

    `ended`: the last part was asked to end the chapter and came to its own end. A chapter that is full and has not
    ended gets a short last part.
    """
    if ended and written >= goal.min_whole_words:
        return None
    missing = max(goal.aim - written, round(goal.aim * CLOSING_SHARE), 1)
    parts = max(-(-missing // lengths.longest), round(missing / lengths.part), 1)
    words = max(-(-missing // parts), 1)
    return Part(done + 1, done + parts, words, pace.ask_for(words))


def closing_part(aim: int, written: int, done: int) -> Part:
    """A few sentences that end a chapter which broke off at its full length."""
    words = max(aim - written, min(CLOSING_WORDS, aim // 10), 1)
    return Part(done + 1, done + 1, words, words)


def is_full(aim: int, written: int) -> bool:
    return aim - written <= aim * CLOSING_SHARE


def is_runaway(goal: Goal, words: int) -> bool:
    """Whether a chapter is far longer than its budget, and than what was asked for."""
    return words > max(goal.ask, goal.budget) * RUNAWAY_SHARE + RUNAWAY_SLACK_WORDS


def max_calls(aim: int, lengths: Lengths) -> int:
    """The bound on a chapter's writing calls, whatever the model does."""
    return 2 * max(round(aim / min(lengths.part, PART_WORDS)), 1) + 4


def goal_for(chapter: Chapter, chapters: Sequence[Chapter]) -> Goal:
    """The words that a chapter aims at, and the number that asks this model for them.

    The book keeps its length: the chapters that follow share what the ones before are over or under their budgets.
    What is aimed at and what is asked for differ by at most `MAX_BEND` from the chapter's own budget. Both follow from
    the chapters alone, so that a run that was interrupted asks for the same again.
    """
    ordered = sorted(chapters, key=lambda each: each.chapter_number)
    left = sum(_budget(each) for each in ordered)
    ahead, pace = 0, Pace(asked=0.5, wrote=0.5)  # in budgets, so that long chapters do not outweigh short ones
    for earlier in ordered:
        budget = _budget(earlier)
        if earlier.chapter_number >= chapter.chapter_number:
            break
        if MODEL_DRIFT[0] * budget <= earlier.word_count <= MODEL_DRIFT[1] * budget:
            goal = _goal(budget, ahead, left, pace)
            pace.learn(goal.ask / budget, earlier.word_count / budget)
            ahead += earlier.word_count - budget
        left -= budget
    return _goal(_budget(chapter), ahead, left, pace)


def _goal(budget: int, ahead: int, left: int, pace: Pace) -> Goal:
    aim = _bent(budget, 1 - ahead / max(left, 1))
    return Goal(budget, aim, _bent(budget, aim / budget * pace.asked / pace.wrote))


def _bent(budget: int, share: float) -> int:
    return max(round(budget * min(max(share, 1 - MAX_BEND), 1 + MAX_BEND)), 1)


def _budget(chapter: Chapter) -> int:
    return max(chapter.target_word_count, 1)
