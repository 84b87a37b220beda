"""Notices in files about sample text, which no language model wrote.

They are on the first page, next to the copyright notice, and above each chapter with sample text.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bookgen.models import Chapter
from bookgen.render.model import Block, Paragraph, Quote, Span

OF_BOOK = "Sample text: no language model wrote this book."
OF_CHAPTER = "Sample text: no language model wrote this chapter."
OF_SOME = "Some chapters of this book are sample text, which no language model wrote. Each of them says so."
NO_RIGHTS = "No rights are claimed in the sample text."
MAX_RANGES = 8


def notice(chapters: Sequence[Chapter]) -> str:
    """The notice for the first page. Empty if there is no sample text."""
    written = [each for each in chapters if each.content.strip()]
    numbers = [each.chapter_number for each in written if each.is_sample]
    if not numbers:
        return ""
    if len(numbers) == len(written):
        return OF_BOOK
    if len(numbers) == 1:
        return f"Chapter {numbers[0]} is sample text: no language model wrote it."
    ranges = _ranges(numbers)
    if len(ranges) > MAX_RANGES:
        return OF_SOME
    return f"Chapters {', '.join(ranges)} are sample text: no language model wrote them."


def label(chapter: Chapter) -> tuple[Block, ...]:
    """The notice above the chapter's text. Empty if the chapter is not sample text."""
    return (Quote((Paragraph((Span(OF_CHAPTER, italic=True),)),)),) if chapter.is_sample else ()


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Numbers as ranges: 1, 2, 3, 7 become "1–3" and "7"."""
    runs = itertools.groupby(enumerate(numbers), key=lambda each: each[1] - each[0])
    found = [[number for _, number in run] for _, run in runs]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in found]
