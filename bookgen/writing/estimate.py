"""Estimate the calls, tokens, cost and seconds of writing a book."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bookgen.models import SAMPLE_WRITER, Book, BookKind, Chapter, Estimate, RevisionMode, Usage, has_separate_stories
from bookgen.providers.text import ShownSpeed
from bookgen.words import tokens
from bookgen.writing import context
from bookgen.writing.blurb import MAX_CHAPTERS_TOKENS, MAX_OPENING_TOKENS, first_half, shows_half
from bookgen.writing.budget import Lengths
from bookgen.writing.chapters_in_view import HEADING_TOKENS, first_shown, is_read_alone
from bookgen.writing.language import ProseLanguage, language
from bookgen.writing.proofreading.edits import WINDOW_WORDS
from bookgen.writing.review.parts import text_tokens
from bookgen.writing.window import WINDOW

Prices = Callable[[str, Usage], int | None]  # the cost of a usage with a model, in micro-units; None: price unknown

TURN = 85  # tokens of a user turn that continues a chapter
TASK = 280  # tokens of the user turn that begins a chapter, without the three parts below
TAIL = 250  # tokens of the previous chapter's end
THREAD = 16  # tokens of one open thread
EDGES = 200  # tokens of openings and endings to avoid
DIGEST = 130  # tokens of a chapter's digest in later calls
NOTES = 500  # tokens of the turn that requests the digest
DIGEST_REPLY = 450
BLURB_TASK, BLURB_REPLY = 450, 200
DESIGN_TASK, DESIGN_REPLY = 1_600, 60  # of the call that chooses the design of a cover
# Tokens of the calls about the whole book: an editor's reading, the author's answer, comparisons.
REVIEW_TASK = 800  # added to the static prompt of a chapter, which has more rules than that of a reading
WORDS_PER_FINDING = 340
FINDING_REPLY, EDITS_REPLY, VERDICT_REPLY = 145, 80, 40  # of one finding
PROOF_TASK, PROOF_REPLY = 500, 150  # of a call that proofreads up to WINDOW_WORDS: the task without the text, its edits
VERSIONS = 60  # of one finding: what a comparison is shown of both versions
EXTRA_CALLS = 0.05  # writing calls beyond the plan: cut replies, repairs
EXTRA_WORDS = 0.02  # written but not kept
MIN_CACHED_TOKENS = 1_024  # a shorter prefix is not cached

PICTURE_PROMPT = 250

SECONDS_A_CALL = 2.0
TOKENS_A_SECOND = 60.0
OFFLINE_SECONDS_A_CALL = 0.05

MAX_BOOKS = 2_000


@dataclass(frozen=True, slots=True)
class Basis:
    """The data of a book on which an estimate depends.

    `static`: the tokens of the prompt's part that is the same for all chapters. `budgets`: the words of each
    chapter. `blurb_words`: the number of words from which the blurb is written. `is_separate`: the book is a
    collection of separate stories, whose prompts have no text of earlier stories.
    """

    static: int
    budgets: tuple[int, ...]
    content_language: str
    kind: BookKind
    has_blurb: bool
    blurb_words: int
    is_separate: bool = False

    @classmethod
    def of(cls, book: Book, chapters: Sequence[Chapter]) -> Basis:
        static = sum(tokens(block.text) for block in context.system(book, chapters, ()))
        budgets = tuple(each.target_word_count for each in chapters)
        read = first_half(budgets) if shows_half(book) else budgets
        separate = has_separate_stories(book)
        return cls(static, budgets, book.content_language, book.kind, bool(book.blurb), sum(read), separate)


def estimate(
    basis: Basis,
    model_name: str,
    prices: Prices,
    image_model_name: str = "",
    picture_tokens: int = 0,
    context_tokens: int = WINDOW,
    revision: RevisionMode = RevisionMode.OFF,
    *,
    proofread: bool = False,
) -> Estimate:
    """Estimate a full run with `model_name`, and with the image model if the book is a picture book.

    `revision`: how much of the review to include: an editor's reading, a revision, and comparisons with the draft.
    `proofread`: whether to include proofreading.

    Without an image model, the service draws the pictures itself, at no cost. `picture_tokens`: tokens of one picture.
    `context_tokens`: the largest context of a call, including the text of earlier chapters.
    """
    chapters, prose = len(basis.budgets), language(basis.content_language)
    digest = min(DIGEST, context.share(context.ALL_DIGESTS, chapters, context.MAX_DIGEST_TOKENS))
    room = max(context_tokens - WINDOW, 0) if basis.kind is BookKind.PROSE and not basis.is_separate else 0
    asked = [(model_name, usage) for usage in _chapters(basis, digest, room)] if chapters else []
    if not basis.has_blurb:
        asked.append((model_name, _blurb(prose, basis)))
        if (
            chapters and basis.kind is BookKind.PROSE and not basis.is_separate
        ):  # the digest of the last chapter is made together with the blurb
            asked.append((model_name, _reading(0, NOTES + prose.usual_tokens(max(basis.budgets[-1], 1)))))
    if chapters and basis.kind is BookKind.PROSE and not image_model_name:
        asked.append((model_name, Usage(calls=1, input_tokens=DESIGN_TASK, output_tokens=DESIGN_REPLY)))
    if chapters and model_name != SAMPLE_WRITER:
        asked += [(model_name, usage) for usage in _review(basis, revision, context_tokens)]
        if proofread:
            asked.append((model_name, _proofreading(basis)))
    if basis.kind is BookKind.CHILDRENS and image_model_name:
        asked.append((image_model_name, _pictures(chapters, picture_tokens)))
    known = [cost for name, usage in asked if (cost := _priced(usage, name, prices)) is not None]
    total = sum((usage for _, usage in asked), Usage())
    return Estimate(sum(known) if len(known) == len(asked) else None, _seconds(model_name, total), total.calls, total)


def _blurb(prose: ProseLanguage, basis: Basis) -> Usage:
    """The usage of the call that writes the blurb, from the book's text or, if it is long, from its digests."""
    read = prose.usual_tokens(max(basis.blurb_words, 1))
    if read > MAX_CHAPTERS_TOKENS:
        read = MAX_OPENING_TOKENS + len(basis.budgets) * DIGEST
    return Usage(calls=1, input_tokens=BLURB_TASK + read, output_tokens=BLURB_REPLY)


def _review(basis: Basis, revision: RevisionMode, context_tokens: int) -> Iterator[Usage]:
    """The usage of an editor's reading, the author's revision and the comparisons, if `revision` includes them."""
    text = language(basis.content_language).usual_tokens(max(sum(basis.budgets), 1))
    findings = sum(basis.budgets) // WORDS_PER_FINDING + 1
    parts = -(-text // text_tokens(context_tokens))
    read = text + parts * (basis.static + REVIEW_TASK)
    if revision is not RevisionMode.OFF:
        yield Usage(calls=parts, input_tokens=read, output_tokens=findings * FINDING_REPLY)
    if revision.revises:
        answered = read + findings * FINDING_REPLY
        yield Usage(calls=parts, input_tokens=answered, output_tokens=findings * EDITS_REPLY)
    if revision is RevisionMode.COMPARE:
        output, new = findings * VERDICT_REPLY, findings * VERSIONS
        yield Usage(calls=parts, input_tokens=new, output_tokens=output, cache_write_tokens=read)
        yield Usage(calls=parts, input_tokens=new, output_tokens=output, cache_read_tokens=read)


def _proofreading(basis: Basis) -> Usage:
    """The usage of the calls that proofread the finished chapters. Each call reads a piece of a chapter."""
    prose = language(basis.content_language)
    calls = sum(-(-words // WINDOW_WORDS) for words in basis.budgets)
    text = prose.usual_tokens(max(sum(basis.budgets), 1))
    return Usage(calls=calls, input_tokens=text + calls * PROOF_TASK, output_tokens=calls * PROOF_REPLY)


def _pictures(spreads: int, tokens_each: int) -> Usage:
    """The usage of a picture for each spread, and of the character sheet that all of them follow."""
    calls = spreads + 1
    read = calls * PICTURE_PROMPT + spreads * tokens_each
    return Usage(calls=calls, input_tokens=read, output_tokens=calls * tokens_each, images=calls)


def _priced(usage: Usage, model_name: str, prices: Prices) -> int | None:
    """The price of several similar calls; None if the price is unknown.

    It is the price of an average call times the number of calls, because the price of a token may depend on a call's
    size.
    """
    calls = max(usage.calls, 1)

    def mean(total: int) -> int:
        return round(total * (1 / calls))

    written, read = mean(usage.cache_write_tokens), mean(usage.cache_read_tokens)
    a_call = Usage(1, mean(usage.input_tokens), mean(usage.output_tokens), written, read) if calls > 1 else usage
    price = prices(model_name, a_call)
    return None if price is None else price * calls


@dataclass(frozen=True, slots=True)
class _Prompt:
    """The tokens of the prompt that precedes a chapter's task: `cached` by the provider, and `new`.

    `shown`: the prompt includes the text of the previous chapter.
    """

    cached: int
    new: int
    shown: bool

    @property
    def size(self) -> int:
        return self.cached + self.new


def _prompts(static: int, sizes: Sequence[int], digest_tokens: int, room: int) -> list[_Prompt]:
    """The prompt of each chapter. All arguments are in tokens.

    `static`: the part that is the same for all chapters. `sizes`: the chapters' texts. `digest_tokens`: one digest.
    `room`: the limit for the texts of earlier chapters.
    """
    prompts = [_Prompt(0, static, shown=False)]
    was_first = was_shown = 0
    for place in range(1, len(sizes)):
        first = first_shown(sizes[:place], room)
        shown = sum(sizes[first:place])
        cached = static + was_first * digest_tokens + (was_shown if first == was_first else 0)
        prompts.append(_Prompt(cached, static + first * digest_tokens + shown - cached, shown=first < place))
        was_first, was_shown = first, shown
    return prompts


def _chapters(basis: Basis, digest_tokens: int, room: int) -> Iterator[Usage]:
    """The usage of the calls that write the chapters and of those that make digests for later chapters.

    `digest_tokens`: tokens of one digest; `room`: how many tokens the texts of earlier chapters may take in a prompt.
    """
    prose = language(basis.content_language)
    texts = [prose.usual_tokens(max(budget, 1)) for budget in basis.budgets]
    prompts = _prompts(basis.static, [text + HEADING_TOKENS for text in texts], digest_tokens, room)
    for place, (text, prompt) in enumerate(zip(texts, prompts, strict=True)):
        parts = max(-(-basis.budgets[place] // Lengths.within(WINDOW, prose).longest), 1)
        writing, end = _writing(text, parts, prompt, place)
        yield writing
        if prompt.shown:  # the digest of the previous chapter is made in parallel
            alone = is_read_alone(texts[place - 1], prompt.size - basis.static)
            yield _reading(0, NOTES + texts[place - 1]) if alone else _reading(prompt.size, NOTES)
        if place + 1 < len(prompts) and not prompts[place + 1].shown:
            yield _reading(end, text // parts + NOTES)


def _writing(text: int, parts: int, prompt: _Prompt, before: int) -> tuple[Usage, int]:
    """The usage of the calls that write a chapter, and the number of tokens in the prompt of the last call.

    Each call reads the prefix that the previous call left in the cache. `text`: tokens of the chapter; `before`: the
    number of earlier chapters.
    """
    stretch = text // parts
    task = TASK + (TAIL + EDGES + min(before, 20) * THREAD if before else 0)
    turns = [task + place * (TURN + stretch) for place in range(parts)]  # the tokens before each turn
    new = prompt.new + task + (parts - 1) * (TURN + stretch)
    read = prompt.cached + sum(prompt.size + size for size in turns[:-1])
    if prompt.size < MIN_CACHED_TOKENS:
        writing = Usage(calls=parts, input_tokens=new + read, output_tokens=text)
    else:
        writing = Usage(calls=parts, output_tokens=text, cache_write_tokens=new, cache_read_tokens=read)
    return _with_extra_calls(writing, prompt.size + task), prompt.size + turns[-1]


def _reading(cached: int, new: int) -> Usage:
    """The usage of a call that makes the digest of a chapter. `cached` and `new`: tokens of its prompt."""
    if cached < MIN_CACHED_TOKENS:
        return Usage(calls=1, input_tokens=cached + new, output_tokens=DIGEST_REPLY)
    return Usage(calls=1, input_tokens=new, output_tokens=DIGEST_REPLY, cache_read_tokens=cached)


def _with_extra_calls(usage: Usage, prefix: int) -> Usage:
    """The usage plus a share of extra calls, for cut replies and repairs. Each extra call reads `prefix` tokens."""
    extra = EXTRA_CALLS * usage.calls
    return Usage(
        calls=round(usage.calls + extra),
        input_tokens=usage.input_tokens,
        output_tokens=round(usage.output_tokens * (1 + EXTRA_WORDS)),
        cache_write_tokens=usage.cache_write_tokens + round(extra * TURN),
        cache_read_tokens=usage.cache_read_tokens + round(extra * prefix),
    )


def _seconds(model_name: str, usage: Usage, speed: ShownSpeed | None = None) -> int:
    if model_name == "offline":
        return max(round(usage.calls * OFFLINE_SECONDS_A_CALL), 1)
    if speed is None:
        return round(usage.calls * SECONDS_A_CALL + usage.output_tokens / TOKENS_A_SECOND)
    read = (usage.input_tokens + usage.cache_write_tokens) * speed.seconds_a_token_read
    return max(round(read + usage.output_tokens / speed.tokens_a_second), 1)


def seconds_of_words(model_name: str, speed: ShownSpeed | None, content_language: str, words: int, calls: int) -> int:
    """The seconds that a model needs to write `words` words in `calls` calls, at a usual speed if `speed` is None."""
    written = language(content_language).usual_tokens(max(words, 1))
    waits = calls * speed.seconds_to_first_word if speed else 0.0
    return round(waits) + _seconds(model_name, Usage(calls=calls, output_tokens=written), speed)


class Estimates:
    """Estimates of full runs with one model, cached by book.

    Books are read far more often than they change, and an estimate takes longer than reading the book. `speed`: the
    measured speed of the model's server so far.
    """

    def __init__(
        self,
        model_name: str,
        prices: Prices,
        most: int = MAX_BOOKS,
        *,
        image_model_name: str = "",
        picture_tokens: int = 0,
        context_tokens: int = WINDOW,
        revision: RevisionMode = RevisionMode.OFF,
        speed: Callable[[], ShownSpeed | None] = lambda: None,
    ) -> None:
        self._model_name = model_name
        self._image_model_name, self._picture_tokens = image_model_name, picture_tokens
        self._speed, self._context_tokens, self._revision = speed, context_tokens, revision
        self._prices = prices
        self._most = most
        self._known: dict[int, tuple[Any, Basis, Estimate]] = {}  # by the book's id; Any: its version

    def __call__(self, book: Book, chapters: Sequence[Chapter]) -> Callable[[], Estimate]:
        """A function that returns the estimate, with the model's speed at the time when the function is called."""
        version = (book.updated_at, *((chapter.id, chapter.updated_at) for chapter in chapters))
        seen, basis, found = self._known.pop(book.id, (None, None, None))
        if basis is None or found is None or seen != version:
            before, basis = basis, Basis.of(book, chapters)
            if found is None or basis != before:
                found = self.work_out(basis)
        self._known[book.id] = version, basis, found
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return partial(self._at_present, found)

    def _at_present(self, found: Estimate) -> Estimate:
        return replace(found, seconds=_seconds(self._model_name, found.usage, self._speed()))

    def work_out(self, basis: Basis) -> Estimate:
        pictures = self._image_model_name, self._picture_tokens
        limits = self._context_tokens, self._revision
        return estimate(basis, self._model_name, self._prices, *pictures, *limits, proofread=True)
