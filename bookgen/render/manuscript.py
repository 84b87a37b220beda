"""Makes the manuscript from a book and its chapters: parsed and typographically corrected once for all writers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from bookgen.models import Book, BookKind, Chapter, SourceType, has_separate_stories, is_play, is_verse
from bookgen.render import sample_text
from bookgen.render.bounds import require_few_texts
from bookgen.render.characters import one_line
from bookgen.render.headings import names_an_act, says_the_same, without_label
from bookgen.render.job import last_change
from bookgen.render.locales import Locale, language
from bookgen.render.markdown import Polish, parse
from bookgen.render.model import Figure, Manuscript, Picture, PlacedPicture, Section, Span
from bookgen.render.plays import roles, with_kept_overlaps
from bookgen.render.poems import with_poems
from bookgen.render.scene_breaks import without_needless_breaks
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
    source: SourceType | None = None,
) -> Manuscript:
    """The manuscript of a book. Chapters without text are left out; the others keep their numbers."""
    tongue = language(book.content_language)
    polish = polisher(tongue)
    has_poems = is_verse(book) and book.kind is BookKind.PROSE
    sections = (
        _titled(
            _section(chapter, polish, _of_chapter(illustrations, chapter, book), verse=is_verse(book)),
            one_line(polish(book.title)),
            tongue,
            is_only=len(chapters) == 1 and book.kind is BookKind.PROSE,
            is_story=has_separate_stories(book),
            in_play=is_play(book),
        )
        for chapter in chapters
        if chapter.content.strip()
    )
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
        chapters=tuple(map(with_poems, sections) if has_poems else sections),
        cover=cover,
        watermark=WATERMARK if watermark else "",
        ages=book.age_range or "",
        notice=sample_text.notice(chapters),
        source=source,
    )


def _titled(
    section: Section, book_title: str, language: Locale, *, is_only: bool, is_story: bool, in_play: bool
) -> Section:
    """The section with the title to show. A book's only chapter without a title gets the book's title."""
    title = without_label(section.title, section.number, language)
    is_act = (in_play or bool(roles(section.blocks))) and names_an_act(title)
    section = replace(section, title=title, titled_alone=is_story or is_act)
    if not is_only:
        return section
    label, title = language.chapter_name(section.number, section.title)
    title = title if label else book_title
    return replace(section, title=title, numbered=False, repeats_book_title=says_the_same(title, book_title))


def _of_chapter(illustrations: Sequence[PlacedPicture], chapter: Chapter, book: Book) -> Sequence[PlacedPicture]:
    """The chapter's pictures to print.

    For a picture book, only the newest is printed, since a chapter has one page for a picture.
    """
    found = [each for each in illustrations if each.chapter_id == chapter.id]
    return [replace(found[-1], position=0)] if found and book.kind is BookKind.CHILDRENS else found


def _section(chapter: Chapter, polish: Polish, illustrations: Sequence[PlacedPicture], *, verse: bool) -> Section:
    written, notes = parse(chapter.content, chapter.title, polish, verse=verse)
    require_few_texts(chapter.chapter_number, (*written, *itertools.chain.from_iterable(notes)))
    illustrated = list(written)
    for each in sorted(illustrations, key=lambda each: each.position, reverse=True):
        text = one_line(polish(each.caption))
        caption = (Span(text),) if text else ()
        illustrated.insert(each.position, Figure(each.picture, one_line(each.alt), caption))
    label = sample_text.label(chapter)
    blocks = (*label, *with_kept_overlaps(without_needless_breaks(illustrated)))
    title = one_line(polish(chapter.title))
    return Section(chapter.id, chapter.chapter_number, title, blocks, notes, labelled=bool(label), verse=verse)
