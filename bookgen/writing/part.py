"""One call of a chapter: what its next stretch is asked for with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from bookgen.models import Chapter
from bookgen.providers.text import Message, TextRequest
from bookgen.words import count_words, tokens
from bookgen.writing import brief, budget, context, continuity, conversation, sentences
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.echo import UNUSABLE
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.language import language
from bookgen.writing.window import SMALL, WINDOW, clip

Task: TypeAlias = Literal["write", "continue", "extend", "close"]

FOR_THE_DIGEST = continuity.MAX_TOKENS + 500  # tokens: it is noted in the same conversation, after the last reply
MOST_PEOPLE = 8  # that a brief names
TAIL_WORDS = 180  # of the chapter before, verbatim

FIRST_PART = """\
Write chapter {number} of {chapters}. Its title, and what it has to do:
{summary}

{given}

The chapter shall have {length} in all; you write it in {parts}. Now write {this_part}, about {part_length}. \
{position}"""

NEXT_PART = """\
Go on with the chapter, straight after its last sentence above. It has {written} of {length} now. Write {this_part}, \
about {part_length}. {position} Repeat nothing, announce nothing, no heading for it."""

CONTINUE = """\
Your reply broke off; its unfinished last sentence is left out above. Go on straight after the last sentence that \
stands there, in the same paragraph or scene, with about {part_length}. {position} Repeat nothing, announce nothing."""

EXTEND = """\
The chapter has {written} of {length} now and is not full yet. Go on straight after its last sentence above with \
about {part_length} more: something that its summary still owes, or a further step of it, and not a second ending of \
the same kind. {position} Repeat nothing, announce nothing."""

CLOSE = """\
Your reply broke off; its unfinished last sentence is left out above. The chapter is long enough now: bring it to its \
end in about {part_length}, straight after the last sentence that stands there, on a note of its own. Repeat nothing, \
announce nothing."""

AGAIN = f"""

{UNUSABLE}: {{problem}}. Begin in another way, and send nothing but the text of the book."""

PROMPTS: Mapping[Task, str] = {"write": NEXT_PART, "continue": CONTINUE, "extend": EXTEND, "close": CLOSE}

_WHOLE = "All that the summary asks for happens in it, and it ends on a note of its own."
_ENDS = "What the summary still owes happens in it, and it brings the chapter to its end, on a note of its own."
_GOES_ON = (
    "It tells only as much of the summary as a part of this length can carry. {left} after it: leave enough to tell, "
    "and do not wind up."
)


def _position(part: budget.Part) -> str:
    left = part.count - part.number
    if left:
        return _GOES_ON.format(left="One more part comes" if left == 1 else f"{left} more parts come")
    return _WHOLE if part.count == 1 else _ENDS


def part_request(draft: WorkingDraft, part: budget.Part, task: Task) -> TextRequest:
    chapter, lang = draft.chapter, language(draft.book.content_language)
    words = {
        "length": lang.length(chapter.target_word_count),
        "written": lang.length(draft.words),
        "part_length": lang.length(part.ask),
        "position": _position(part),
        "parts": "one go" if part.count == 1 else f"{part.count} parts",
        "this_part": "the whole chapter" if part.count == 1 else f"part {part.number} of {part.count}",
    }
    prompt = PROMPTS[task].format(**words) if draft.text else FIRST_PART.format(**words, **_first_part(draft))
    prompt += AGAIN.format(problem=draft.problem) if draft.problem else ""
    system = draft.system()
    # Twice what is wanted: a model that writes on is trimmed at a sentence end, not cut by its provider.
    max_tokens = min(lang.tokens(max(part.ask, part.words * 2)) + 400, draft.lengths.reply or WINDOW)
    taken = sum(tokens(block.text) for block in system) + tokens(prompt) + max_tokens
    for_the_digest = FOR_THE_DIGEST if draft.window >= WINDOW else 0  # else the chapter is read anew for it
    most = min(draft.window - taken - for_the_digest, conversation.MOST)
    turns = conversation.within(conversation.marked(draft.turns), most)
    return TextRequest(
        stage="chapter",
        system=system,
        messages=(*turns, Message("user", prompt, cache=True)),
        max_tokens=max_tokens,
        chapter_number=chapter.chapter_number,
        account_id=draft.book.account_id,
        brief=_brief(draft, part, task),
    )


def _brief(draft: WorkingDraft, part: budget.Part, task: Task) -> dict[str, object]:
    chapter, lang = draft.chapter, language(draft.book.content_language)
    named = (person["name"] for person in context.entries(draft.book.bible, "people") if person.get("name"))
    return brief.of_book(
        draft.book,
        chapter_title=chapter.title,
        chapter_summary=chapter.summary,
        people=[str(name) for name in named][:MOST_PEOPLE],
        task=task,
        part=part.number,
        parts=part.count,
        words=part.ask,
        characters=lang.characters(part.ask),
        seed=_seed(chapter),
    )


def _seed(chapter: Chapter) -> str:
    """Another one when a chapter that has a text is written afresh: the same request has its reply already."""
    return content_hash(f"{chapter.chapter_number} {chapter.title} {chapter.content}")[:12]


NEXT_CHAPTER = """\
The chapter after it, which is not to be told yet:
{summary}"""
LAST_CHAPTER = "It is the last chapter: the book ends with it."
THREADS = """\
Still open from earlier chapters; take up those that belong here, and leave the others open:
{threads}"""
LAST_THREADS = """\
Still open from earlier chapters; what a reader waits for is settled now:
{threads}"""
AVOID = """\
Earlier chapters have used these sentences, openings and endings; use neither them nor their like again:
{worn}"""
TAIL = """\
The chapter before it ends with these words, which the reader has just read:
{tail}"""
FORMER = """\
There is a former version of this chapter that its owner wants written afresh. Keep what the summary asks for; find \
another way in, other scenes or examples, other words. It began like this:
{opening}"""


def _first_part(draft: WorkingDraft) -> dict[str, object]:
    chapter, chapters = draft.chapter, draft.material.chapters
    return {
        "number": chapter.chapter_number,
        "chapters": len(chapters),
        "summary": _task(chapter, draft.window // 8),
        "given": "\n\n".join(_given(draft)),
    }


def _given(draft: WorkingDraft) -> Iterator[str]:
    """What stands around the chapter, as far as there is any."""
    chapter = draft.chapter
    following = draft.material.after(chapter.chapter_number)
    yield NEXT_CHAPTER.format(summary=_task(following, draft.window // 24)) if following else LAST_CHAPTER
    if threads := continuity.open_threads(draft.digests)[-max(draft.window // continuity.TOKENS_A_THREAD, 2) :]:
        lines = "\n".join(f"- {thread}" for thread in threads)
        yield (THREADS if following else LAST_THREADS).format(threads=context.data(lines))
    if draft.avoid and draft.window >= SMALL:
        yield AVOID.format(worn=context.data("\n".join(f"- {clip(each, 45)}" for each in draft.avoid)))
    if tail := _tail(draft):
        yield TAIL.format(tail=context.data(tail))
    if chapter.content.strip():
        yield FORMER.format(opening=context.data(clip(chapter.content, min(120, draft.window // 30))))


def _task(chapter: Chapter, most: int) -> str:
    return context.data(clip(f"{chapter.title}\n{chapter.summary}".strip(), most))


def _tail(draft: WorkingDraft) -> str:
    """The last words of the chapter before, from the beginning of a sentence."""
    before = draft.material.written_before(draft.chapter.chapter_number)
    if not before:
        return ""
    content = before[-1].content.rstrip()
    start = len(content)
    for sentence in sentences.backwards(content):
        found = content.rfind(sentence, 0, start)
        start = found if found >= 0 else start
        if count_words(content[start:]) >= min(TAIL_WORDS, draft.window // 40):
            break
    return content[start:]
