"""Replies that tell a sample story: its outline, its chapters part by part, and their digests (summaries and facts)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from bookgen.providers.sample.brief import Brief
from bookgen.providers.sample.story import SCENE_BREAK, StoryChapter, StoryParagraph, Telling, joined
from bookgen.providers.text import TextRequest
from bookgen.words import count_words

TAIL_WORDS = 30  # enough to find in a chapter where a text ends
_WORD = re.compile(r"\w+")
_END_OF_SENTENCE = re.compile(r"[^\w\s]*\s*")


def outline(brief: Brief, told: Telling) -> dict[str, Any]:
    first, last = brief.number("first", 1), brief.number("last", len(told.chapters))
    wanted = list(enumerate(told.chapters, 1))[first - 1 : last]
    plan = {f"chapter_{number}": {"title": each.title, "summary": each.summary} for number, each in wanted}
    return {"bible": told.story.bible, **told.story.bible, "chapters": plan}


def digest(chapter: StoryChapter) -> dict[str, Any]:
    return dict(chapter.digest)


def prose(brief: Brief, chapter: StoryChapter, request: TextRequest) -> str:
    """Return the next part of a chapter: the text after what the conversation has so far. Empty at the chapter's end.

    The last part is the whole rest of the chapter. Other parts have about the requested number of words.
    """
    part, parts = brief.number("part", 1), brief.number("parts", 1)
    said = [message.text for message in request.messages if message.role == "assistant"]
    rest = _after(chapter.text, said[-1]) if said else None
    if rest is None:
        rest = joined(_from_part(chapter.paragraphs, part, parts))
    return rest if part >= parts else _beginning(rest, brief.number("words", 1))


def _after(text: str, said: str) -> str | None:
    """Return the rest of `text` after the last words of `said`; None if `text` does not contain these words."""
    tail = [word.lower() for word in _WORD.findall(said)[-TAIL_WORDS:]]
    found = list(_WORD.finditer(text))
    words = [match[0].lower() for match in found]
    for end in range(len(tail), len(words) + 1):
        if tail and words[end - len(tail) : end] == tail:
            return _END_OF_SENTENCE.sub("", text[found[end - 1].end() :], count=1)
    return None


def _from_part(paragraphs: Sequence[StoryParagraph], part: int, parts: int) -> Sequence[StoryParagraph]:
    """Return the paragraphs of a chapter from the start of part `part` on. All `parts` parts are equally long."""
    before = [0, *accumulate(each.words for each in paragraphs)]
    start = next(index for index, words in enumerate(before) if words >= before[-1] * (part - 1) // max(parts, part))
    return paragraphs[start:]


def _beginning(text: str, words: int) -> str:
    """Return about `words` words from the start of `text`.

    The end is never at a scene break, so that the break is not lost between two parts.
    """
    blocks = text.split("\n\n")
    written = list(accumulate(count_words(block) for block in blocks))
    ends = [index for index in range(1, len(blocks)) if SCENE_BREAK not in blocks[index - 1 : index + 1]]
    end = min(ends, key=lambda index: abs(written[index - 1] - words), default=len(blocks))
    return "\n\n".join(blocks[:end])
