"""Build the request for the next part of a chapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from bookgen.models import Chapter, StoryKind, has_separate_stories, story_kind
from bookgen.providers.text import Message, TextRequest
from bookgen.words import count_words, tokens
from bookgen.writing import brief, budget, chapter_plan, context, continuity, conversation, sentences
from bookgen.writing.draft import WorkingDraft
from bookgen.writing.echo import UNUSABLE
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.language import language
from bookgen.writing.window import SMALL, WINDOW, clip

Task: TypeAlias = Literal["write", "continue", "extend", "close"]

FOR_THE_DIGEST = (
    continuity.MAX_TOKENS + 500
)  # tokens, because the digest is requested in the same conversation, after the last reply
MAX_SETTLED = 20  # decisions of the author about facts
TAIL_WORDS = 180  # verbatim words of the previous chapter
ROOM = 1.7  # allowed tokens of a reply, as a multiple of the requested ones: a chapter that runs over is still complete

FIRST_PART = """\
Write {which}. Its title, and what it has to do:
{summary}
{plan}
{given}

{ask}"""

PLAN = """
How it is planned. Where the plan and the summary differ, the summary counts{contradicted}.{set_up}
{plan}
"""
CONTRADICTED = "; where they contradict a chapter above, that chapter does"
SET_UP = " What the plan sets up is in the text without being pointed out."

NEXT_PART = """\
Continue the chapter straight after its last sentence above. Write {this_part}, about {part_length}. {position} \
Repeat nothing, announce nothing, and give it no heading."""

CONTINUE = """\
Your reply broke off; its unfinished last sentence is left out above. Continue straight after the last sentence \
above, in the same paragraph or scene, with about {part_length}. {position} Repeat nothing, announce nothing."""

EXTEND = """\
The chapter is much shorter than it should be. Continue straight after its last sentence above with about \
{part_length} more: what its summary asks for that has not been told yet, or a further step of it, but not a second \
ending of the same kind. {position} Repeat nothing, announce nothing."""

CLOSE = """\
Your reply broke off; its unfinished last sentence is left out above. The chapter is long enough now: bring it to its \
end in about {part_length}, straight after the last sentence above. Repeat nothing, announce nothing."""

AGAIN = f"""

{UNUSABLE}: {{problem}}. Begin in another way, and send nothing but the text of the book."""

PROMPTS: Mapping[Task, str] = {"write": NEXT_PART, "continue": CONTINUE, "extend": EXTEND, "close": CLOSE}

WHOLE_CHAPTER = "Write the whole chapter, about {part_length}. {position}"
WHOLE_POEMS = (
    "Write the whole chapter: every poem that its summary names, each in its form and with about as many lines as the "
    "summary says; if it does not say, about {part_length} in all. Nothing is explained or summed up."
)
PART_OF_POEMS = (
    "You write it in several parts, each of whole poems. Now write {this_part}, about {part_length}. Each poem has its "
    "form and about as many lines as the summary says. {position}"
)
PART_OF_CHAPTER = "You write it in several parts. Now write {this_part}, about {part_length}. {position}"

_WHOLE = "It has everything that the summary asks for, and ends once that is told."
_ENDS = (
    "It has everything that the summary asks for and that has not been told yet, and ends the chapter once that is "
    "told."
)
_CONTINUES = (
    "It tells only as much of the summary as a part of this length can carry. {left} after it: leave enough to tell, "
    "and do not end the chapter."
)


def _position(part: budget.Part) -> str:
    left = part.count - part.number
    if left:
        return _CONTINUES.format(left="One more part comes" if left == 1 else f"{left} more parts come")
    return _WHOLE if part.count == 1 else _ENDS


def part_request(draft: WorkingDraft, part: budget.Part, task: Task) -> TextRequest:
    """The request for `part`, with everything that the model needs to write it.

    `task`: whether the part begins, continues, extends or closes the text.
    """
    prompt = _prompt(draft, part, task)
    system = draft.system()
    max_tokens = _room(draft, part)
    taken = draft.frame_tokens + tokens(prompt) + max_tokens
    for_the_digest = (
        FOR_THE_DIGEST if draft.window >= WINDOW else 0
    )  # otherwise the digest has a separate call that reads the chapter
    most = min(draft.window - taken - for_the_digest, conversation.MAX_TOKENS)
    turns = conversation.within(conversation.marked(draft.turns), most)
    return TextRequest(
        stage="chapter",
        system=system,
        messages=(*turns, Message("user", prompt, cache=True)),
        max_tokens=max_tokens,
        chapter_number=draft.chapter.chapter_number,
        account_id=draft.book.account_id,
        brief=_brief(draft, part, task),
    )


def _prompt(draft: WorkingDraft, part: budget.Part, task: Task) -> str:
    lang = language(draft.book.content_language)
    words = {
        "part_length": lang.rough_length(part.ask),
        "position": _position(part),
        "this_part": "its last part" if part.is_last else f"part {part.number} of {part.count}",
    }
    if draft.text:
        prompt = PROMPTS[task].format(**words)
    else:
        whole, some = (WHOLE_POEMS, PART_OF_POEMS) if draft.goal.in_lines else (WHOLE_CHAPTER, PART_OF_CHAPTER)
        ask = whole if part.count == 1 else some
        prompt = FIRST_PART.format(ask=ask.format(**words), **_first_part(draft))
    return prompt + (AGAIN.format(problem=draft.problem) if draft.problem else "")


def _room(draft: WorkingDraft, part: budget.Part) -> int:
    """The token limit of a reply, with room for a reply that is longer than requested."""
    if draft.goal.in_lines:
        return draft.lengths.reply
    wanted = max(part.ask, part.words) * ROOM
    return min(language(draft.book.content_language).tokens(round(wanted)) + 400, draft.lengths.reply)


def _brief(draft: WorkingDraft, part: budget.Part, task: Task) -> dict[str, object]:
    chapter, lang = draft.chapter, language(draft.book.content_language)
    return brief.of_chapter(
        draft.book,
        chapter,
        task=task,
        part=part.number,
        parts=part.count,
        words=part.ask,
        characters=lang.characters(part.ask),
        seed=_seed(chapter),
    )


def _seed(chapter: Chapter) -> str:
    """A seed for the brief of a chapter. It changes when the chapter is written again, so that a new text is made."""
    return content_hash(f"{chapter.chapter_number} {chapter.title} {chapter.content}")[:12]


NEXT_CHAPTER = """\
The chapter after it. Do not tell its content here:
{summary}"""
LAST_CHAPTER = "The book ends with this chapter."
THREADS = """\
Still open from earlier chapters (the one just before may have settled some already); take up those that belong here, \
and leave the others open:
{threads}"""
LAST_THREADS = """\
Still open from earlier chapters (the one just before may have settled some already); settle now what a reader is \
waiting for:
{threads}"""
LAST_OPEN_THREADS = """\
Still open from earlier chapters (the one just before may have settled some already). Come back to those that belong \
here. What the book's data does not answer stays open:
{threads}"""
SETTLED = """\
The author has decided this. It holds, whatever earlier chapters say:
{settled}"""
AVOID = """\
The first and last sentences of the chapters before it, and sentences that occur twice in the book. Begin and end this \
chapter in a way of its own, and repeat none of them by accident{echo}:
{worn}"""
ECHO = "; an echo that you mean is welcome"
TAIL = """\
The chapter before it ends with these words, which the reader has just read:
{tail}"""
FORMER = """\
There is an earlier version of this chapter, and the book's owner wants it written anew. Do what the summary asks for \
and tell it in a new way of your own. The earlier version began like this:
{opening}"""
WITH_WISH = """\
The book's owner wants this chapter written again, with this wish. It takes precedence over the summary:
{wish}

Keep what the wish does not touch: events, names, and whatever later chapters rely on. The earlier version:
{former}"""
LATER = """\
What the chapters after it tell and rely on, as they are written:
{told}"""
LATER_SHARE, FORMER_SHARE, WISH_SHARE = 1 / 16, 1 / 6, 1 / 40  # of the window


COMPLETE = ", a story that is complete in itself"


def _first_part(draft: WorkingDraft) -> dict[str, object]:
    chapter, chapters = draft.chapter, draft.material.chapters
    number, count = chapter.chapter_number, len(chapters)
    complete = COMPLETE if has_separate_stories(draft.book) else ""
    return {
        "which": ("the book's only chapter" if count == 1 else f"chapter {number} of {count}") + complete,
        "summary": _task(chapter, draft.window // 8),
        "plan": _plan(draft),
        "given": "\n\n".join(_given(draft)),
    }


def _plan(draft: WorkingDraft) -> str:
    if not (plan := chapter_plan.as_prompt_lines(draft.chapter.plan)):
        return ""
    set_up = SET_UP if draft.chapter.plan.get("sets_up") else ""
    contradicted = "" if has_separate_stories(draft.book) else CONTRADICTED
    return PLAN.format(contradicted=contradicted, set_up=set_up, plan=context.data(clip(plan, draft.window // 8)))


def _given(draft: WorkingDraft) -> Iterator[str]:
    """The parts of the prompt about what surrounds the chapter: the next one, open threads, decisions, and so on.

    Nothing surrounds a separate story, except the sentences that earlier stories have used.
    """
    chapter, is_separate = draft.chapter, has_separate_stories(draft.book)
    if not is_separate:
        yield from _neighbours(draft)
    digests = sorted(draft.material.digests.items())
    if settled := [
        line for number, each in digests for line in each.settled if not is_separate or number == chapter.chapter_number
    ]:
        lines = clip("\n".join(f"- {line}" for line in settled[-MAX_SETTLED:]), draft.window // 16)
        yield SETTLED.format(settled=context.data(lines))
    if draft.avoid and draft.window >= SMALL:
        worn = "\n".join(f"- {clip(each, 45)}" for each in draft.avoid)
        yield AVOID.format(echo="" if is_separate else ECHO, worn=context.data(worn))
    if not is_separate and (tail := _tail(draft)):
        yield TAIL.format(tail=context.data(tail))
    if chapter.content.strip() and draft.material.wish:
        yield from _rewritten(draft)
    elif chapter.content.strip():
        yield FORMER.format(opening=context.data(clip(chapter.content, min(120, draft.window // 30))))


def _neighbours(draft: WorkingDraft) -> Iterator[str]:
    """The parts of the prompt about the next chapter and about what earlier chapters have left open."""
    following = draft.material.after(draft.chapter.chapter_number)
    yield NEXT_CHAPTER.format(summary=_task(following, draft.window // 24)) if following else LAST_CHAPTER
    if threads := continuity.open_threads(draft.digests)[-max(draft.window // continuity.TOKENS_A_THREAD, 2) :]:
        lines = "\n".join(f"- {thread}" for thread in threads)
        last = LAST_OPEN_THREADS if story_kind(draft.book) == StoryKind.MEMOIR else LAST_THREADS
        yield (THREADS if following else last).format(threads=context.data(lines))


def _rewritten(draft: WorkingDraft) -> Iterator[str]:
    """The parts of the prompt that are only used when a chapter is rewritten as its author wishes.

    They contain what the later chapters tell, the author's wish, and the chapter's previous text.
    """
    material, window = draft.material, draft.window
    later = [
        f"{number}. {digest.summary} {' '.join(digest.facts)}"
        for number, digest in sorted(material.digests.items())
        if number > draft.chapter.chapter_number and not has_separate_stories(draft.book)
    ]
    if later:
        each = round(window * LATER_SHARE / len(later))
        yield LATER.format(told=context.data("\n".join(clip(line, each) for line in later)))
    yield WITH_WISH.format(
        wish=context.data(clip(material.wish, round(window * WISH_SHARE))),
        former=context.data(clip(draft.chapter.content, round(window * FORMER_SHARE))),
    )


def _task(chapter: Chapter, most: int) -> str:
    return context.data(clip(f"{chapter.title}\n{chapter.summary}".strip(), most))


def _tail(draft: WorkingDraft) -> str:
    """The last words of the previous chapter. They begin with a line or, if that line is long, with a sentence.

    Empty if the whole previous chapter is in the prompt.
    """
    before = draft.material.written_before(draft.chapter.chapter_number)
    if not before or before[-1].chapter_number in draft.view.numbers:
        return ""
    content = sentences.without_notes(before[-1].content).rstrip()
    start, most = len(content), min(TAIL_WORDS, draft.window // 40)
    for sentence in sentences.backwards(content):
        found = content.rfind(sentence, 0, start)
        start = found if found >= 0 else start
        if count_words(content[start:]) >= most:
            break
    line = content.rfind("\n", 0, start) + 1
    return content[line if count_words(content[line:]) <= 2 * most else start :]
