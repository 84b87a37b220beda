"""How much of a chapter a revision may change."""

from __future__ import annotations

from bookgen.models import Chapter
from bookgen.words import count_words

MAX_PASSAGE_WORDS = 80  # per edit: a few sentences, in English
MAX_ADDED_WORDS, MIN_ADDED_WORDS = 120, 40  # per chapter, net: the limits of a long and of a short one, in English
MAX_ADDED_SHARE = 1 / 5  # of the words of a chapter in between
MAX_CHANGED_SHARE = 1 / 3  # of a chapter's words that edits may replace; the first edit is always allowed


def room_for(chapter: Chapter, most: int = MAX_ADDED_WORDS) -> int:
    """How many words edits may add to a chapter, at most `most`.

    The limit does not depend on the length that was asked for, because a mended fault is worth more than that length.
    """
    share = int(count_words(chapter.content) * MAX_ADDED_SHARE)
    return min(max(share, MIN_ADDED_WORDS), most)
