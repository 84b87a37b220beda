"""A chapter: written in parts, each planned from what the ones before it really came to."""

from __future__ import annotations

from collections.abc import Callable

from bookgen import threads
from bookgen.errors import UpstreamAIError
from bookgen.models import Chapter, Digest
from bookgen.providers.text import CallsHalted, Message, PromptTooLong, StopReason, TextReply, TextRequest
from bookgen.words import count_words
from bookgen.writing import (
    budget,
    clean,
    continuity,
    conversation,
    echo,
    nonsense,
    quality,
    residue,
    revision,
    seam,
    sentences,
)
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.flaw import paragraphs
from bookgen.writing.material import ChapterDraft, Finding, Material
from bookgen.writing.part import Task, part_request
from bookgen.writing.refusal import raise_if_refused
from bookgen.writing.steps import Steps
from bookgen.writing.window import WINDOW, clip, smaller

MOST_CONTINUATIONS = 3  # of one part
MOST_FINDINGS = 40
FAR_TOO_SHORT = 0.5  # of its budget: what has less is no chapter
MOST_EMPTY = 2  # replies in a row without a sentence that can be kept


class UnusableText(UpstreamAIError):
    """What the model sends for a chapter is no chapter."""

    def __init__(self, chapter: Chapter, problem: str) -> None:
        super().__init__(
            f"What the model sends for chapter {chapter.chapter_number} cannot be used: {problem}.",
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
) -> ChapterDraft:
    """The chapter as its outline asks for it, close to its budget, with what later chapters must know of it, unless its
    run was paused before that was asked for.

    A chapter that has a text is written afresh. `on_words` is told the words written so far, `on_digest` the digests
    that had to be made of earlier chapters. The number of calls is bounded whatever the model answers.
    """
    chapter = material.chapter(chapter_number)
    digests = await continuity.digests_before(material, chapter_number, steps, on_digest)
    draft = WorkingDraft(material, chapter, digests, await quality.avoid(material, chapter))
    content = await _write(draft, steps, on_words)
    content, findings = await _mended(draft, content, steps)
    try:
        digest = await _digest(draft, content, steps)
    except CallsHalted:  # the chapter is written all the same; whoever needs to know of it sums it up then
        return ChapterDraft(content, count_words(content), None, tuple(findings), writer=draft.writer)
    except UpstreamAIError:
        digest = None
    if digest is None:
        findings.append(Finding("digest", clip(content, 40), "The model could not sum the chapter up."))
    return ChapterDraft(content, count_words(content), digest, tuple(findings), writer=draft.writer)


async def _write(draft: WorkingDraft, steps: Steps, on_words: Callable[[int], None]) -> str:
    """Call after call until the chapter is long enough, or its calls are used up."""
    done = continuations = empty = 0
    task: Task = "write"
    calls = 0
    while calls < budget.most_calls(draft.aim, draft.lengths):
        part = budget.next_part(draft.aim, draft.words, done, draft.pace, draft.lengths)
        if part is None and task == "continue":
            part, task = budget.closing_part(draft.aim, draft.words, done), "close"
        if part is None:
            break
        # Threads: a long book's prompt and a long reply take longer than the event loop may wait.
        request = await threads.compute(part_request, draft, part, task)
        try:
            reply = await steps.reply(request, attempt=empty)
        except PromptTooLong as refused:
            draft.window = smaller(draft.window, refused)
            continue
        calls += 1
        raise_if_refused(reply, request)
        kept, cut = await threads.compute(_keep, draft, reply, request)
        if not kept and empty == MOST_EMPTY:
            break
        if not kept:
            empty += 1
            continue
        draft.turns = [*request.messages, Message("assistant", kept)]
        on_words(draft.words)
        if not cut:
            draft.pace.learn(part.ask, count_words(kept))
        empty, continuations = 0, continuations + 1 if cut else 0
        if cut and continuations <= MOST_CONTINUATIONS and task != "close":
            task = "continue"
        else:
            task, continuations, done = "write" if part.number < part.count else "extend", 0, done + 1
    if draft.words < draft.aim * FAR_TOO_SHORT:
        raise UnusableText(draft.chapter, draft.problem or f"it has {draft.words} of {draft.aim} words")
    return _fitted(draft)


def _keep(draft: WorkingDraft, reply: TextReply, request: TextRequest) -> tuple[str, bool]:
    """The whole sentences of a reply that are new, and whether it was cut, admitted or not."""
    piece = clean.prose(reply.text, draft.chapter, opening=not draft.text)
    instructed = echo.instructions(request)
    sent_back = echo.echoed(piece, instructed)
    draft.is_sample = reply.is_sample
    if not reply.is_sample and (problem := nonsense.problem_with(piece, draft.book.content_language, sent_back)):
        draft.problem = problem
        return "", False
    draft.problem = "it repeats one passage without end" if reply.stop is StopReason.LOOP else ""
    if sent_back:
        piece = echo.without_echo(piece, instructed)
    cut = reply.stop in (StopReason.LENGTH, StopReason.LOOP) or not sentences.is_finished(piece)
    whole = sentences.complete(piece) if cut else piece
    kept = seam.without_overlap(draft.text, whole)
    if kept:
        broken_off = piece[len(whole) :]
        in_paragraph = bool(broken_off.strip()) and "\n\n" not in broken_off[: -len(broken_off.lstrip())]
        draft.add(kept, same_paragraph=cut and in_paragraph)
        draft.credit(reply)
    return kept, cut


def _fitted(draft: WorkingDraft) -> str:
    """The text, cut at a sentence end when it is far too long."""
    if draft.words <= draft.aim * (1 + budget.OVERLONG):
        return draft.text
    return sentences.cut_to(draft.text, draft.aim, slack=budget.NEAR_ENOUGH)


async def _digest(draft: WorkingDraft, content: str, steps: Steps) -> Digest | None:
    """Noted in the conversation that wrote the chapter, unless its text was changed or shortened since."""
    threads = continuity.open_threads(draft.digests)
    if content != draft.text or not conversation.is_whole(draft.turns) or draft.window < WINDOW:
        return await continuity.digest_of(draft.book, draft.chapter, content, threads, steps, draft.window)
    turns = conversation.marked(draft.turns)
    return await continuity.digest_after(draft.book, draft.chapter, content, threads, draft.system(), turns, steps)


async def _mended(draft: WorkingDraft, content: str, steps: Steps) -> tuple[str, list[Finding]]:
    """The chapter after one repair of each passage that the quality gate faults, and what is still to be said."""
    content = residue.without_residue(content, draft.chapter)
    flaws = await quality.inspect(content, draft.material, draft.chapter, draft.digests)
    if repairs := revision.to_repair(flaws):
        blocks, system = paragraphs(content), draft.system()
        for index, found in repairs.items():
            blocks[index] = await revision.revise(blocks, index, found, draft.book, draft.chapter, system, steps)
        content = "\n\n".join(blocks)
        flaws = await quality.inspect(content, draft.material, draft.chapter, draft.digests)
    foreign = [each for each in flaws if each.kind == "wrong_language" and each.paragraph is None]
    if foreign and not draft.is_sample:
        raise UnusableText(draft.chapter, f"it is not in the book's language (“{foreign[0].excerpt[:80]}”)")
    return content, [each.finding() for each in flaws[:MOST_FINDINGS]]
