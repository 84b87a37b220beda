"""Plan and write a book as its kind requires: prose, or a children's book."""

from __future__ import annotations

from collections.abc import Callable

from bookgen.models import Book, BookKind, Digest
from bookgen.writing import chapter as prose
from bookgen.writing import outline
from bookgen.writing.material import ChapterDraft, Material, Outline
from bookgen.writing.picture_book import plan, spread
from bookgen.writing.steps import Steps
from bookgen.writing.window import WINDOW


async def draft_outline(book: Book, steps: Steps) -> Outline:
    if book.kind is BookKind.CHILDRENS:
        return await plan.draft_spreads(book, steps)
    return await outline.draft_outline(book, steps)


async def write_chapter(
    material: Material,
    chapter_number: int,
    steps: Steps,
    on_words: Callable[[int], None] = lambda words: None,
    on_digest: Callable[[Digest], None] = lambda digest: None,
    *,
    context_tokens: int = WINDOW,
) -> ChapterDraft:
    if material.book.kind is BookKind.PROSE:
        return await prose.write_chapter(
            material, chapter_number, steps, on_words, on_digest, context_tokens=context_tokens
        )
    return await spread.write_spread(material, material.chapter(chapter_number), steps)
