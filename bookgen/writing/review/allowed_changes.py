"""How much of a chapter a revision may change."""

from __future__ import annotations

from bookgen.models import Chapter
from bookgen.words import count_words
from bookgen.writing.quality import MAX_DRIFT

MAX_PASSAGE_WORDS = 80  # per edit: a few sentences, in English
MAX_ADDED_WORDS = 120  # per chapter, net, in English
MAX_CHANGED_SHARE = 1 / 3  # of a chapter's words that edits may replace; the first edit is always allowed


def room_for(chapter: Chapter, added: int = MAX_ADDED_WORDS) -> int:
    """How many words edits may add to a chapter: up to `added`, but no more than the quality gate allows."""
    words, most = count_words(chapter.content), int(chapter.target_word_count * (1 + MAX_DRIFT))
    return max(min(added, most - words), 0) if words <= most else added
