"""Repair a finding of the quality gate: the model rewrites one paragraph."""

from __future__ import annotations

from collections.abc import Sequence

from bookgen.models import Book, Chapter, is_verse
from bookgen.providers.text import Block, Message, PromptTooLong, StopReason, TextRequest
from bookgen.words import count_words
from bookgen.writing import brief, context, reply_cleanup, sentences
from bookgen.writing.flaw import Flaw
from bookgen.writing.language import language
from bookgen.writing.refusal import ModelRefused, raise_if_refused
from bookgen.writing.steps import Steps
from bookgen.writing.window import clip

# Kinds whose findings in authored prose are right in at least 99 of 100 cases (docs/quality.md). Others are only
# reported.
REPAIRED = frozenset({"wrong_language"})
MAX_REPAIRS = 5  # per chapter, and one per paragraph

REVISE = """\
One passage of chapter {number} has to be rewritten. What is wrong with it:
{problems}

What comes before it:
{before}

The passage:
{passage}

What comes after it:
{after}

Write the passage anew, in {language}, about {length}, so that it says what the chapter needs at this place, fits the \
text around it and no longer has the fault. Send the new passage alone."""


def to_repair(flaws: Sequence[Flaw]) -> dict[int, list[Flaw]]:
    """The findings that a model may repair, by paragraph. Only kinds of findings that are hardly ever false alarms."""
    found: dict[int, list[Flaw]] = {}
    for flaw in flaws:
        if flaw.paragraph is not None and flaw.kind in REPAIRED:
            found.setdefault(flaw.paragraph, []).append(flaw)
    return dict(list(found.items())[:MAX_REPAIRS])


async def revise(
    blocks: Sequence[str],
    index: int,
    flaws: Sequence[Flaw],
    book: Book,
    chapter: Chapter,
    system: tuple[Block, ...],
    steps: Steps,
) -> str:
    """The paragraph `blocks[index]` as the model rewrites it; unchanged if the reply cannot replace it."""
    request = _request(blocks, index, flaws, book, chapter, system)
    try:
        reply = await steps.reply(request)
        raise_if_refused(reply, request)
    except (ModelRefused, PromptTooLong):
        return blocks[index]
    passage = reply_cleanup.prose(reply.text, chapter, opening=index == 0, verse=is_verse(book)).text
    if reply.stop is StopReason.LENGTH or not sentences.is_finished(passage):
        passage = sentences.complete(passage)
    return passage if _fits(passage, blocks[index]) else blocks[index]


def _fits(passage: str, former: str) -> bool:
    words, before = count_words(passage), count_words(former)
    return bool(passage) and passage != former and 0.5 * before - 15 <= words <= 1.6 * before + 15


def _request(
    blocks: Sequence[str], index: int, flaws: Sequence[Flaw], book: Book, chapter: Chapter, system: tuple[Block, ...]
) -> TextRequest:
    passage, lang = blocks[index], language(book.content_language)
    words = max(count_words(passage), 10)
    problems = [f"{flaw.detail} ({clip(flaw.excerpt, 60)})" for flaw in flaws]
    task = REVISE.format(
        number=chapter.chapter_number,
        problems="\n".join(f"- {problem}" for problem in problems),
        before=context.data(
            clip(blocks[index - 1], 200) if index else "Nothing: the chapter begins with this passage."
        ),
        passage=context.data(passage),
        after=context.data(
            clip(blocks[index + 1], 200) if index + 1 < len(blocks) else "Nothing: the chapter ends with this passage."
        ),
        language=lang.name,
        length=lang.length(words),
    )
    return TextRequest(
        stage="revise",
        system=system,
        messages=(Message("user", task),),
        max_tokens=lang.tokens(count_words(passage) * 2) + 400,
        chapter_number=chapter.chapter_number,
        account_id=book.account_id,
        brief=brief.of_chapter(book, chapter, passage=passage, words=words),
    )
