"""Write a chapter, from the first model call to the final text. A text that the model finished is kept whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bookgen import threads
from bookgen.errors import UpstreamAIError
from bookgen.models import Chapter, Digest, has_separate_stories
from bookgen.providers.text import CallsHalted, Message, PromptTooLong
from bookgen.words import count_words
from bookgen.writing import (
    budget,
    continuity,
    conversation,
    notes,
    quality,
    repair,
    sentences,
    tightening,
)
from bookgen.writing.blocks import joined, spaced_paragraphs
from bookgen.writing.budget import MAX_PART_WORDS, Part
from bookgen.writing.chapters_in_view import view_before
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.flaw import Flaw
from bookgen.writing.material import ChapterDraft, Finding, Material, TextChange, anchor
from bookgen.writing.part_reply import Stretch, read_stretch, stops_short
from bookgen.writing.part_request import Task, part_request
from bookgen.writing.refusal import raise_if_refused
from bookgen.writing.steps import Steps
from bookgen.writing.window import WINDOW, clip, smaller

MAX_CONTINUATIONS = 3  # of one part
MAX_FINDINGS = 40
MIN_CHAPTER_SHARE = 0.3  # of its target words; a shorter text is rejected
MAX_EMPTY = 2  # replies in a row without a sentence that can be kept


class UnusableText(UpstreamAIError):
    """The model's text cannot be used as a chapter."""

    def __init__(self, chapter: Chapter, problem: str) -> None:
        super().__init__(
            f"The model's text for chapter {chapter.chapter_number} cannot be used: {problem}.",
            stage="chapter",
            chapter_number=chapter.chapter_number,
            retryable=True,
        )


async def write_chapter(
    material: Material,
    chapter_number: int,
    steps: Steps,
    on_words: Callable[[int], None] = lambda words: None,
    on_digest: Callable[[Digest], None] = lambda digest: None,
    *,
    context_tokens: int = WINDOW,
) -> ChapterDraft:
    """Write one chapter and, usually, a digest of it (summary and facts) for later chapters.

    The draft replaces any text that the chapter already has. `on_words` is called with the number of words written so
    far. `on_digest` is called with the digest of each earlier chapter that had none. If `context_tokens` is more than
    WINDOW, the prompt has the text of earlier chapters.

    The draft has no digest if the chapter is the last one, if the model cannot make one, or if no more calls are
    allowed. It also has none if the prompt of the next chapter will contain this chapter's text. In that case, the
    digest is made while the next chapter is written.

    The number of model calls is limited. Raises UnusableText if the text is far too short or in another language,
    ModelRefused, CallsHalted if no calls may be made now, and other UpstreamAIErrors.
    """
    chapter = material.chapter(chapter_number)
    draft = WorkingDraft(material, chapter, [], await quality.avoid(material, chapter))
    draft.room = 0 if has_separate_stories(material.book) else max(context_tokens - WINDOW, 0)
    await _prepare_earlier_chapters(draft, steps, on_digest)
    async with notes.noting(draft, steps, on_digest):
        await _write(draft, steps, on_words, on_digest)
        content, findings = await _mended(draft, draft.text, steps)
    written = ChapterDraft(
        content,
        count_words(content),
        None,
        (*draft.findings, *findings),
        changes=tuple(draft.changes),
        writer=draft.writer,
        in_parts=draft.in_parts,
    )
    if material.after(chapter_number) is None or notes.is_noted_later(draft, content):
        return written
    try:
        digest = await _digest(draft, content, steps)
    except CallsHalted:  # the chapter is complete without it; the digest is made when it is needed
        return written
    except UpstreamAIError:
        digest = None
    if digest is None:
        undigested = Finding("digest", clip(content, 40), "The model could not summarize this chapter.")
        return replace(written, findings=(*written.findings, undigested))
    return replace(written, digest=digest)


async def _prepare_earlier_chapters(draft: WorkingDraft, steps: Steps, on_digest: Callable[[Digest], None]) -> None:
    """Prepare what the prompt says about earlier chapters: the texts of the chapters that fit, digests of the others.

    Sets `draft.view` (the texts) and `draft.digests`. The model makes missing digests; `on_digest` is called with each.
    """
    number = draft.chapter.chapter_number
    draft.view = await threads.compute(view_before, draft.material, number, draft.room)
    draft.digests = await continuity.digests_before(draft.material, number, steps, on_digest, draft.view.numbers)
    await threads.compute(draft.measure)


async def _shrink_prompt(
    draft: WorkingDraft, refused: PromptTooLong, steps: Steps, on_digest: Callable[[Digest], None]
) -> None:
    """Shrink the prompt after the model has refused it as too long (`refused`).

    First the text of earlier chapters is reduced, then the other parts. Raises `refused` if the prompt is already as
    small as possible.
    """
    context = smaller(draft.window + draft.room, refused)
    draft.window, draft.room = min(context, WINDOW), max(context - WINDOW, 0)
    if draft.view.chapters:
        await _prepare_earlier_chapters(draft, steps, on_digest)


async def _write(
    draft: WorkingDraft, steps: Steps, on_words: Callable[[int], None], on_digest: Callable[[Digest], None]
) -> None:
    """Request one piece of text after another until the chapter has ended or has used all its calls."""
    await _restore_in_parts(draft, steps)
    done = continuations = empty = calls = 0
    ended = False
    task: Task = "write"
    while calls < budget.max_calls(draft.aim, draft.lengths):
        part: Part | None
        if task == "continue" and budget.is_full(draft.aim, draft.words) and not draft.goal.in_lines:
            part, task = budget.closing_part(draft.aim, draft.words, done), "close"
        else:
            part = budget.next_part(draft.goal, draft.words, done, draft.pace, draft.lengths, ended=ended)
        if part is None:
            break
        # In a thread: a long book's prompt takes longer to build than the event loop may wait.
        request = await threads.compute(part_request, draft, part, task)
        try:
            reply = await steps.reply(replace(request, on_first_word=draft.begun.set), attempt=empty)
        except PromptTooLong as refused:
            await _shrink_prompt(draft, refused, steps, on_digest)
            continue
        draft.begun.set()
        calls += 1
        raise_if_refused(reply, request)
        draft.is_sample = reply.is_sample
        stretch = await threads.compute(read_stretch, draft, reply, request, part)
        draft.problem = stretch.problem
        is_too_much = _needs_parts(stretch, part, draft.goal)
        draft.in_parts = draft.in_parts or is_too_much
        if not stretch.text:
            if empty == MAX_EMPTY:
                break
            empty += 1
            continue
        if tightening.is_runaway(draft.goal, draft.words + count_words(stretch.text)) and not draft.was_tightened:
            stretch = await tightening.tightened(draft, stretch, request, part, steps)
            calls += 1
        draft.record(stretch.changes)
        draft.add(stretch.text, same_paragraph=stretch.in_paragraph)
        draft.credit(reply)
        draft.turns = [*request.messages, Message("assistant", stretch.text)]
        on_words(draft.words)
        if not (stretch.cut or is_too_much):
            draft.pace.learn(part.ask, count_words(stretch.text))
        empty, continuations = 0, continuations + 1 if stretch.cut else 0
        if stretch.cut and continuations <= MAX_CONTINUATIONS and task != "close":
            task, ended = "continue", False
        else:
            ended = task == "close" or (part.is_last and not stretch.cut)
            task, continuations, done = "extend" if part.is_last else "write", 0, done + 1
    if draft.words < draft.aim * MIN_CHAPTER_SHARE:
        raise UnusableText(draft.chapter, draft.problem or f"it has {draft.words} of {draft.aim} words")
    if not ended or draft.problem:
        excerpt = sentences.last(draft.text)
        draft.findings.append(Finding("unfinished", excerpt[:200], "The model wrote no ending for this chapter."))
    elif stops_short(draft.text):
        excerpt = draft.text.rstrip()[-200:]
        draft.findings.append(
            Finding("unfinished", excerpt, "The last line has no full stop. It may have been cut off.")
        )


async def _restore_in_parts(draft: WorkingDraft, steps: Steps) -> None:
    """If the writing of this chapter was interrupted before, set `draft.in_parts` to its value at that time.

    The requests are then the same as before the interruption, so that their stored replies are used. Without a stored
    reply, the value stays as it is.
    """
    if draft.aim <= MAX_PART_WORDS or draft.window < WINDOW:
        return
    known = draft.in_parts
    for draft.in_parts in (False, True):
        part = budget.next_part(draft.goal, 0, 0, draft.pace, draft.lengths, ended=False)
        if part and await steps.has(await threads.compute(part_request, draft, part, "write")):
            return
    draft.in_parts = known


def _needs_parts(stretch: Stretch, part: Part, goal: budget.Goal) -> bool:
    """Whether the reply in `stretch` shows that the model cannot write a long text in one call."""
    if part.ask <= MAX_PART_WORDS or stretch.refused:
        return False
    words = count_words(stretch.text)
    enough = part.words if stretch.cut else min(part.words, part.ask) * goal.min_whole_share
    return bool(stretch.problem) or words < enough


async def _digest(draft: WorkingDraft, content: str, steps: Steps) -> Digest | None:
    """The digest of the chapter, requested in the conversation that wrote it if possible; None if the request fails."""
    threads = continuity.open_threads(draft.digests)
    if content != draft.text or not conversation.is_whole(draft.turns) or draft.window < WINDOW:
        return await continuity.digest_of(draft.book, draft.chapter, content, threads, steps, draft.window)
    turns = conversation.marked(draft.turns)
    return await continuity.digest_after(draft.book, draft.chapter, content, threads, draft.system(), turns, steps)


async def _mended(draft: WorkingDraft, content: str, steps: Steps) -> tuple[str, list[Finding]]:
    """The chapter's text after the quality gate (`writing.quality`), and the findings that remain.

    The draft records every change. Raises UnusableText if the text is in another language.
    """
    cleaned = await quality.certain(content, draft.book)
    content = cleaned.text
    draft.changes.extend(cleaned.changes)
    flaws = await quality.inspect(content, draft.material, draft.chapter)
    if repairs := repair.to_repair(flaws):
        content = await _repaired(draft, content, repairs, steps)
        flaws = await quality.inspect(content, draft.material, draft.chapter)
    foreign = [each for each in flaws if each.kind == "wrong_language" and each.paragraph is None]
    if foreign and not draft.is_sample:
        raise UnusableText(draft.chapter, f"it is not in the book's language (“{foreign[0].excerpt[:80]}”)")
    return content, [each.finding() for each in flaws[:MAX_FINDINGS]]


async def _repaired(draft: WorkingDraft, content: str, repairs: Mapping[int, Sequence[Flaw]], steps: Steps) -> str:
    """The text after the model has rewritten each paragraph that has findings. Each is rewritten once.

    `repairs`: the findings by the index of their paragraph. The draft records each change.
    """
    spaced, system = spaced_paragraphs(content), draft.system()
    for index, found in repairs.items():
        space, former = spaced[index]
        blocks = [block for _, block in spaced]
        revised = await repair.revise(blocks, index, found, draft.book, draft.chapter, system, steps)
        if revised != former:
            follows = anchor(joined(spaced[:index]))
            detail = f"The model rewrote the passage because of this finding: {found[0].detail}"
            draft.changes.append(TextChange(found[0].kind, detail, former, revised, follows))
            spaced[index] = (space, revised)
    return joined(spaced)
