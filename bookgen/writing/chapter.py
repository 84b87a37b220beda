"""A chapter: written in parts, each planned from what the ones before it really came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bookgen.errors import NotFound, UpstreamAIError
from bookgen.models import Book, Chapter, Digest
from bookgen.providers.text import Block, Message, StopReason, TextReply, TextRequest
from bookgen.words import count_words
from bookgen.writing import brief, budget, clean, context, continuity, quality, residue, revision, sentences
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.flaw import paragraphs
from bookgen.writing.language import language
from bookgen.writing.material import ChapterDraft, Finding, Material
from bookgen.writing.refusal import raise_if_refused
from bookgen.writing.steps import Steps
from bookgen.writing.window import clip, tokens

TAIL_WORDS = 180  # of the chapter before, verbatim
MOST_CONTINUATIONS = 3  # of one part
MOST_FINDINGS = 40
MOST_EMPTY = 2  # replies in a row without a sentence that can be kept
SO_FAR = 7_000  # tokens of the chapter's own conversation that go with each call


async def write_chapter(
    material: Material, chapter_number: int, steps: Steps, on_words: Callable[[int], None] | None = None
) -> ChapterDraft:
    """The chapter as its outline asks for it, close to its budget, with what later chapters must know of it.

    A chapter that has a text is written afresh. `on_words` is told the words written so far. The number of
    calls is bounded whatever the model answers.
    """
    chapter = _chapter(material, chapter_number)
    digests = await continuity.digests_before(material, chapter_number, steps)
    desk = Desk(material, chapter, digests, await quality.avoid(material, chapter))
    content = await _write(desk, steps, on_words or (lambda words: None))
    content, findings = await _mended(desk, content, steps)
    digest = await continuity.digest_of(material.book, chapter, content, continuity.open_threads(digests), steps)
    if digest is None:
        findings.append(Finding("digest", clip(content, 40), "The model could not sum the chapter up."))
    return ChapterDraft(content, count_words(content), digest, tuple(findings))


def _chapter(material: Material, chapter_number: int) -> Chapter:
    for chapter in material.chapters:
        if chapter.chapter_number == chapter_number:
            return chapter
    raise NotFound


@dataclass(slots=True)
class Desk:
    """What lies before the writer of one chapter: what is given, and what is written so far."""

    material: Material
    chapter: Chapter
    digests: Sequence[Digest]
    avoid: Sequence[str] = ()
    text: str = ""
    same_paragraph: bool = False  # the last reply broke off in the middle of a paragraph
    turns: list[Message] = field(default_factory=list)
    pace: budget.Pace = field(default_factory=budget.Pace)

    @property
    def book(self) -> Book:
        return self.material.book

    @property
    def words(self) -> int:
        return count_words(self.text)

    @property
    def aim(self) -> int:
        return budget.aim_for(self.chapter, self.material.chapters)

    def system(self) -> tuple[Block, ...]:
        return context.system(self.book, self.material.chapters, self.digests, first_call=not self.turns)


async def _write(desk: Desk, steps: Steps, on_words: Callable[[int], None]) -> str:
    done = continuations = empty = 0
    task = "write"
    for _ in range(budget.most_calls(desk.aim)):
        part = budget.next_part(desk.aim, desk.words, done, desk.pace)
        if part is None:
            break
        request = _request(desk, part, task)
        reply = await steps.reply(request, attempt=empty)
        raise_if_refused(reply, request)
        kept, cut = _keep(desk, reply)
        if not kept:
            empty += 1
            if empty > MOST_EMPTY:
                break
            continue
        empty = 0
        if not cut:
            desk.pace.learn(part.ask, count_words(kept))
        _put_down(desk, request, kept, cut)
        on_words(desk.words)
        continuations = continuations + 1 if cut else 0
        if cut and continuations <= MOST_CONTINUATIONS:
            task = "continue"
        else:
            task, continuations = "write" if part.number < part.count else "extend", 0
            done += 1
    if not desk.text:
        raise UpstreamAIError(
            "The model sent no text for this chapter.",
            stage="chapter",
            chapter_number=desk.chapter.chapter_number,
            retryable=True,
        )
    return _fitted(desk)


def _keep(desk: Desk, reply: TextReply) -> tuple[str, bool]:
    """The whole sentences of a reply that are new, and whether it was cut, admitted or not."""
    piece = clean.prose(reply.text, desk.chapter, opening=not desk.text)
    cut = reply.stop is StopReason.LENGTH or not sentences.is_finished(piece)
    whole = sentences.complete(piece) if cut else piece
    # What broke off belongs to the paragraph whose last whole sentence is kept.
    rest = piece[len(whole) :]
    kept = clean.without_overlap(desk.text, whole)
    if kept:
        desk.text = clean.join(desk.text, kept, same_paragraph=desk.same_paragraph)
        desk.same_paragraph = cut and "\n\n" not in rest[: len(rest) - len(rest.lstrip())] and bool(rest.strip())
    return kept, cut


def _put_down(desk: Desk, request: TextRequest, kept: str, cut: bool) -> None:
    """Remember the turn as it will be repeated: the reply is what was kept of it."""
    desk.turns = [*request.messages, Message("assistant", kept)]


def _fitted(desk: Desk) -> str:
    """The text, cut at a sentence end when it is far too long."""
    if desk.words <= desk.aim * (1 + budget.OVERLONG):
        return desk.text
    return sentences.cut_to(desk.text, desk.aim, slack=budget.NEAR_ENOUGH)


async def _mended(desk: Desk, content: str, steps: Steps) -> tuple[str, list[Finding]]:
    """The chapter after one repair of each passage that the quality gate faults, and what is still to be said."""
    content = residue.without_residue(content, desk.chapter)
    flaws = await quality.inspect(content, desk.material, desk.chapter, desk.digests)
    if repairs := revision.to_repair(flaws):
        blocks = paragraphs(content)
        for index, found in repairs.items():
            blocks[index] = await revision.revise(blocks, index, found, desk.book, desk.chapter, desk.system(), steps)
        content = "\n\n".join(blocks)
        flaws = await quality.inspect(content, desk.material, desk.chapter, desk.digests)
    return content, [each.finding() for each in flaws[:MOST_FINDINGS]]


FIRST_PART = """\
Write chapter {number} of {chapters}. Its title, and what it has to do:
{summary}

{after}
{threads}{avoid}{tail}{former}The chapter shall have {length} in all; you write it in {parts}. \
Now write {this_part}, about {part_length}: {position}

"""

NEXT_PART = """\
Go on with the chapter, straight after its last sentence above. It has {written} of {length} now. Write the next \
stretch, about {part_length}: {position} Repeat nothing, announce nothing, no heading for it.

"""

CONTINUE = """\
Your reply broke off; its unfinished last sentence is left out above. Go on straight after the last sentence that \
stands there, in the same paragraph or scene, with about {part_length}: {position} Repeat nothing, announce nothing.

"""

EXTEND = """\
The chapter has {written} of {length} now and is not full yet. Go on straight after its last sentence above with \
about {part_length} more: something that its summary still owes, or a further step of it, and not a second ending of \
the same kind. {position} Repeat nothing, announce nothing.

"""

_ENDS = "this brings the chapter to its end, on a note of its own."
_GOES_ON = "the chapter goes on after it, so do not wind up."


def _request(desk: Desk, part: budget.Part, task: str) -> TextRequest:
    chapter, tongue = desk.chapter, language(desk.book.content_language)
    last = part.number == part.count
    words = {
        "length": tongue.length(chapter.target_word_count),
        "written": tongue.length(desk.words),
        "part_length": tongue.length(part.ask),
        "position": _ENDS if last else _GOES_ON,
    }
    if not desk.text:
        prompt = FIRST_PART.format(**words, **_first_part(desk, part))
    else:
        prompt = {"write": NEXT_PART, "continue": CONTINUE, "extend": EXTEND}[task].format(**words)
    prompt += _brief(desk, part, task)
    return TextRequest(
        stage="chapter",
        system=desk.system(),
        messages=_turns(desk, Message("user", prompt, cache=not last)),
        # Twice what is wanted: a model that writes on is trimmed at a sentence end, not cut by its provider.
        max_tokens=tongue.tokens(max(part.ask, part.words * 2)) + 400,
        chapter_number=chapter.chapter_number,
        account_id=desk.book.account_id,
    )


def _brief(desk: Desk, part: budget.Part, task: str) -> str:
    chapter, tongue = desk.chapter, language(desk.book.content_language)
    return brief.block(
        "chapter",
        desk.book,
        chapter_number=chapter.chapter_number,
        chapter_title=chapter.title,
        chapter_summary=chapter.summary if not desk.text else clip(chapter.summary, 60),
        people=_people(desk.book),
        task=task,
        part=part.number,
        parts=part.count,
        words=part.ask,
        characters=tongue.characters(part.ask),
        written=desk.words,
        chapter_words=chapter.target_word_count,
        seed=_seed(chapter),
    )


def _seed(chapter: Chapter) -> str:
    """Another one when a chapter that has a text is written afresh: the same request has its reply already."""
    return content_hash(f"{chapter.chapter_number} {chapter.title} {chapter.content}")[:12]


def _people(book: Book) -> list[str]:
    people = book.bible.get("people")
    if not isinstance(people, list):
        return []
    return [str(person["name"]) for person in people if isinstance(person, dict) and person.get("name")][:8]


def _turns(desk: Desk, turn: Message) -> tuple[Message, ...]:
    """The conversation so far and `turn`. The turn before it stays marked: the prefix is read from there."""
    earlier = [replace(message, cache=False) for message in desk.turns]
    if len(earlier) > 1:
        earlier[-2] = replace(earlier[-2], cache=True)
    while len(earlier) > 2 and sum(tokens(message.text) for message in earlier) > SO_FAR:
        # The first turn holds the task; the oldest stretch of the chapter gives way to its outline.
        earlier = _shortened(earlier)
    return (*earlier, turn)


def _shortened(turns: list[Message]) -> list[Message]:
    """The turns with the oldest stretch of text reduced to its paragraphs' first sentences."""
    for index, message in enumerate(turns):
        if message.role == "assistant" and not message.text.startswith(SKELETON[:20]):
            gist = SKELETON + " ".join(
                found[0] for paragraph in message.text.split("\n\n") if (found := sentences.split(paragraph))
            )
            return [*turns[:index], Message("assistant", clip(gist, 250)), *turns[index + 1 :]]
    return turns[:1] + turns[3:]


SKELETON = "[This stretch stands in the chapter; only its paragraphs' beginnings are shown.] "

NEXT_CHAPTER = """\
The chapter after it, which is not to be told yet:
{summary}
"""
LAST_CHAPTER = """\
It is the last chapter: the book ends with it.
"""
THREADS = """
Still open from earlier chapters; take up those that belong here, and leave the others open:
{threads}
"""
AVOID = """
Earlier chapters have used these sentences, openings and endings; use neither them nor their like again:
{worn}
"""
TAIL = """
The chapter before it ends with these words, which the reader has just read:
{tail}

"""
FORMER = """
There is a former version of this chapter that its owner wants written afresh. Keep what the summary asks for; find \
another way in, other scenes or examples, other words. It began like this:
{opening}

"""


def _first_part(desk: Desk, part: budget.Part) -> dict[str, object]:
    chapter, chapters = desk.chapter, desk.material.chapters
    following = next((each for each in chapters if each.chapter_number == chapter.chapter_number + 1), None)
    threads = continuity.open_threads(desk.digests)
    tail = _tail(desk)
    return {
        "number": chapter.chapter_number,
        "chapters": len(chapters),
        "summary": _task(chapter),
        "after": NEXT_CHAPTER.format(summary=_task(following)) if following else LAST_CHAPTER,
        "threads": THREADS.format(threads="\n".join(f"- {thread}" for thread in threads)) if threads else "",
        "avoid": AVOID.format(worn=context.data("\n".join(f"- {clip(each, 45)}" for each in desk.avoid)))
        if desk.avoid
        else "",
        "tail": TAIL.format(tail=context.data(tail)) if tail else "\n",
        "former": FORMER.format(opening=context.data(clip(chapter.content, 120))) if chapter.content.strip() else "",
        "parts": "one go" if part.count == 1 else f"{part.count} parts",
        "this_part": "the whole chapter" if part.count == 1 else "part 1",
    }


def _task(chapter: Chapter) -> str:
    return context.data(f"{chapter.title}\n{chapter.summary}".strip())


def _tail(desk: Desk) -> str:
    """The last words of the chapter before, from the beginning of a sentence."""
    before = [
        each
        for each in desk.material.chapters
        if each.chapter_number < desk.chapter.chapter_number and each.content.strip()
    ]
    if not before:
        return ""
    content = before[-1].content.rstrip()
    start = len(content)
    for sentence in reversed(sentences.split(content)):
        found = content.rfind(sentence, 0, start)
        start = found if found >= 0 else start
        if count_words(content[start:]) >= TAIL_WORDS:
            break
    return content[start:]
