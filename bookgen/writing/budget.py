"""Lengths: how the words of a book are divided among its chapters, and a chapter's words among its model calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bookgen.models import Chapter
from bookgen.writing.language import ProseLanguage
from bookgen.writing.window import WINDOW

MAX_CALL_WORDS = 4_000  # a strong model writes this much in one reply without losing the thread
PART_WORDS, MAX_PART_WORDS = 800, 1_000  # for a model that has proved to need parts, or has a small window
MAX_REPLY_TOKENS, MIN_REPLY_TOKENS = (
    16_000,
    4_000,
)  # the most that current models can send in one reply; what a part needs
REPLY_SHARE = 0.27  # of a small context window: reserved for the reply
REPLY_SLACK, LONG_REPLY_SLACK = 1.25, 1.1  # room in a reply, as a multiple of the requested words

MIN_WHOLE_SHARE = 0.6  # a text that ends with less than this share of the request is only a part of its chapter
MIN_WHOLE_SHARE_OF_VERSE = 0.3
CLOSING_WORDS = 60  # of a part that ends a chapter which broke off at its full length
CLOSING_SHARE = 0.1  # of a chapter's target: the part that ends a chapter which is full before its last part

MAX_BEND = 0.25  # of a chapter's budget: how much more or less than the budget may be requested
MAX_BEND_OF_THE_END = 0.1  # of the last chapter's budget, because an ending needs its room
# A book of so many chapters keeps its length: if chapters run over, later ones are requested shorter. In a shorter
# book, they may run over up to TOLERATED times their length, since a shorter chapter leaves out what its plan needs.
LONG_BOOK_CHAPTERS, TOLERATED = 10, 1.25
MODEL_DRIFT = (
    0.45,
    1.7,
)  # of a chapter's budget: if a chapter is outside this range, probably its author has changed its length


def spread(total: int, count: int) -> list[int]:
    """Split `total` into `count` nearly equal whole numbers whose sum is exact."""
    base, extra = divmod(total, count)
    # The numbers that are larger by one are distributed evenly.
    return [base + ((index + 1) * extra // count - index * extra // count) for index in range(count)]


@dataclass(frozen=True, slots=True)
class Lengths:
    """What to request from one call: usually `part` words, at most `longest` words, and at most `reply` tokens."""

    part: int
    longest: int
    reply: int

    @classmethod
    def within(cls, window: int, lang: ProseLanguage, *, in_parts: bool = False, taken: int = 0) -> Lengths:
        """The lengths that fit a context window of `window` tokens, of which the prompt takes `taken`.

        `in_parts`: the model has proved unable to write a whole chapter in one call.
        """
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
    """The next call of a chapter: part `number` of `count`. The prompt asks for `ask` words in order to get `words`."""

    number: int
    count: int
    words: int
    ask: int

    @property
    def is_last(self) -> bool:
        return self.number == self.count


@dataclass(frozen=True, slots=True)
class Goal:
    """The words that a chapter should have (`aim`, its budget), and the number to request from the model (`ask`).

    `in_lines`: the chapter is verse, so its length follows from the number of lines of its poems.
    """

    aim: int
    ask: int
    in_lines: bool = False

    @property
    def min_whole_share(self) -> float:
        """The share of the requested words that a text needs to count as a whole chapter.

        A text with fewer words is only a part of its chapter.
        """
        return MIN_WHOLE_SHARE_OF_VERSE if self.in_lines else MIN_WHOLE_SHARE

    @property
    def min_whole_words(self) -> float:
        """The fewest words of a complete chapter.

        A shorter text counts as a part of the chapter, even if the model meant it as the whole.
        """
        return min(self.aim, self.ask) * self.min_whole_share

    def pace(self) -> Pace:
        return Pace(asked=200, wrote=200 * self.aim / self.ask)


@dataclass(slots=True)
class Pace:
    """How many words a model writes for each word that it is asked for.

    The count starts with one imaginary reply of the expected length, so that a single real reply changes it little.
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
    """The next call after `done` parts with `written` words in total; None if the chapter is finished.

    `ended`: the prompt of the last part asked for the chapter's end, and the reply was not cut off. A chapter that has
    all its words but no ending gets a short last part.
    """
    if ended and written >= goal.min_whole_words:
        return None
    missing = max(goal.aim - written, round(goal.aim * CLOSING_SHARE), 1)
    parts = max(-(-missing // lengths.longest), round(missing / lengths.part), 1)
    words = max(-(-missing // parts), 1)
    return Part(done + 1, done + parts, words, pace.ask_for(words))


def closing_part(aim: int, written: int, done: int) -> Part:
    """A short part to end a chapter that broke off at its full length: `written` of `aim` words, in `done` parts."""
    words = max(aim - written, min(CLOSING_WORDS, aim // 10), 1)
    return Part(done + 1, done + 1, words, words)


def is_full(aim: int, written: int) -> bool:
    return aim - written <= aim * CLOSING_SHARE


def max_calls(aim: int, lengths: Lengths) -> int:
    """The largest number of writing calls for one chapter, whatever the model replies."""
    return 2 * max(round(aim / min(lengths.part, PART_WORDS)), 1) + 4


def goal_for(chapter: Chapter, chapters: Sequence[Chapter], *, in_lines: bool = False) -> Goal:
    """The number of words that a chapter should have, and the number to request from the model to get them.

    The chapter should have exactly its budget, even if the book is too long or too short so far, because the chapter's
    plan needs that length.

    The number to request follows from the earlier chapters. If the model wrote more than requested there, fewer words
    are requested now; if it wrote less, more. In a book of fewer than LONG_BOOK_CHAPTERS chapters, the number is
    reduced only if the model exceeded its requests by more than the factor TOLERATED on average. It differs from the
    budget by at most the share MAX_BEND, in the last chapter by at most MAX_BEND_OF_THE_END.

    The result depends only on the chapters, so that a resumed run repeats the same request. `in_lines`: the chapter is
    verse, for which the budget itself is requested.
    """
    if in_lines:
        return Goal(_budget(chapter), _budget(chapter), in_lines=True)
    ordered = sorted(chapters, key=lambda each: each.chapter_number)
    tolerated = 1.0 if len(ordered) >= LONG_BOOK_CHAPTERS else TOLERATED
    pace = Pace(asked=1, wrote=1)  # as multiples of a budget, so that long chapters do not outweigh short ones
    for earlier in ordered:
        budget = _budget(earlier)
        if earlier.chapter_number >= chapter.chapter_number:
            break
        if MODEL_DRIFT[0] * budget <= earlier.word_count <= MODEL_DRIFT[1] * budget:
            pace.learn(_goal(budget, pace, tolerated).ask / budget, earlier.word_count / budget)
    ends = bool(ordered[1:]) and chapter.chapter_number == ordered[-1].chapter_number
    return _goal(_budget(chapter), pace, tolerated, MAX_BEND_OF_THE_END if ends else MAX_BEND)


def _goal(budget: int, pace: Pace, tolerated: float, most: float = MAX_BEND) -> Goal:
    share = pace.asked / pace.wrote
    if share < 1:
        share = min(share * tolerated, 1)
    share = min(max(share, 1 - most), 1 + most)
    return Goal(budget, max(round(budget * share), 1))


def _budget(chapter: Chapter) -> int:
    return max(chapter.target_word_count, 1)
