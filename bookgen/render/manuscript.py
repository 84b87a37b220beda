"""A book and its chapters -> the manuscript: one parse, one typography, for every writer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from bookgen.models import Book, BookKind, Chapter
from bookgen.render.bounds import require_few_texts
from bookgen.render.characters import one_line
from bookgen.render.job import last_change
from bookgen.render.languages import language
from bookgen.render.markdown import Polish, parse
from bookgen.render.model import Figure, Manuscript, Picture, PlacedPicture, Section, Span
from bookgen.render.typography import polisher

WATERMARK = "Made with bookgen"


def manuscript(
    book: Book,
    chapters: Sequence[Chapter],
    *,
    author: str,
    watermark: bool,
    cover: Picture | None = None,
    illustrations: Sequence[PlacedPicture] = (),
) -> Manuscript:
    """Chapters that nobody has written yet are left out; numbers stay those of the outline."""
    polish = polisher(language(book.content_language))
    return Manuscript(
        id=str(book.id),
        title=one_line(polish(book.title)),
        subtitle=one_line(polish(book.subtitle)),
        author=one_line(author),
        language=book.content_language,
        trim=book.trim_size,
        year=book.created_at.year,
        changed=last_change(book, chapters),
        subject=one_line(book.genre),
        blurb="\n".join(filter(None, (one_line(polish(line)) for line in book.blurb.splitlines()))),
        chapters=tuple(
            _section(chapter, polish, _of_chapter(illustrations, chapter, book))
            for chapter in chapters
            if chapter.content.strip()
        ),
        cover=cover,
        watermark=WATERMARK if watermark else "",
        ages=book.age_range or "",
    )


def _of_chapter(illustrations: Sequence[PlacedPicture], chapter: Chapter, book: Book) -> Sequence[PlacedPicture]:
    """Of a spread the newest picture alone, for which its page has room."""
    found = [each for each in illustrations if each.chapter_id == chapter.id]
    return [replace(found[-1], position=0)] if found and book.kind is BookKind.CHILDRENS else found


def _section(chapter: Chapter, polish: Polish, illustrations: Sequence[PlacedPicture]) -> Section:
    blocks, notes = parse(chapter.content, chapter.title, polish)
    require_few_texts(chapter.chapter_number, (*blocks, *itertools.chain.from_iterable(notes)))
    illustrated = list(blocks)
    for each in sorted(illustrations, key=lambda each: each.position, reverse=True):
        text = one_line(polish(each.caption))
        caption = (Span(text),) if text else ()
        illustrated.insert(each.position, Figure(each.picture, one_line(each.alt), caption))
    return Section(chapter.id, chapter.chapter_number, one_line(polish(chapter.title)), tuple(illustrated), notes)
