"""The brief: what one model call asks for, as fields of its request.

The brief is never sent to a provider. The offline model writes from it, and the tests' model server answers from it.

Every brief has `language`, `title`, `genre`, `audience`, `chapter_count` and `total` (the words of the whole book), and
a `seed` that changes when a new text is wanted. Each stage adds fields:

outline    first, last: the chapter numbers wanted in this reply
rework     chapters: [{number, title, summary}] to plan again
chapter    part, parts, words (of this part), characters (the same length, null in scripts with
           spaces), task: "write", "continue" (the last reply was cut), "extend" or "close" (a few sentences to end a
           chapter that broke off)
revise     passage: the text to rewrite; words: the length of that text
passage    the same as revise
blurb      nothing more
design     portrait: the description of the book from which its cover is chosen
digest     threads: the open threads, numbered from 1
review     nothing more
revision   nothing more
comparison nothing more
support    question: the user's question

`chapter`, `revise`, `passage` and `digest` also have `chapter_title`, `chapter_summary` and `people` (names).

For a children's book, the briefs of its plan and of its spreads (pairs of facing pages) add `ages`, `theme` and
`characters` (name and description of each). A spread has the stage `chapter`, with `spreads` (how many the book has)
and `words` (about how many the spread has).
"""

from __future__ import annotations

from bookgen.models import Book, Chapter
from bookgen.writing import context, stories
from bookgen.writing.fingerprint import content_hash

MAX_PEOPLE = 8  # in a brief


def of_book(book: Book, *, seed: str = "", **fields: object) -> dict[str, object]:
    """The brief of a call about `book`, with `fields` added. A different `seed` asks for a different text."""
    return {
        "language": book.content_language,
        "title": book.title,
        "genre": book.genre,
        "audience": book.target_audience,
        "chapter_count": book.chapter_count,
        "total": book.target_word_count,
        "seed": seed,
        **fields,
    }


def of_chapter(book: Book, chapter: Chapter, *, seed: str = "", **fields: object) -> dict[str, object]:
    """The brief of a call about one chapter: title, summary and the people of the book, with `fields` added."""
    bible = stories.bible_for(book, chapter.chapter_number)
    named = (person["name"] for person in context.entries(bible, "people") if person.get("name"))
    return of_book(
        book,
        seed=seed,
        chapter_title=chapter.title,
        chapter_summary=chapter.summary,
        people=[str(name) for name in named][:MAX_PEOPLE],
        **fields,
    )


def of_outline(book: Book, first: int, last: int) -> dict[str, object]:
    """The brief of a call that plans the chapters `first` to `last`.

    Its seed is a hash of the current bible. So a request for a new outline differs from the request that led to the
    current outline, and it does not get the stored reply again.
    """
    seed = content_hash(context.bible(book.bible))[:12] if book.bible else ""
    return of_book(book, first=first, last=last, seed=seed)


def of_childrens(book: Book) -> dict[str, object]:
    """The fields that a children's book adds to a brief."""
    return {"ages": book.age_range, "theme": book.theme, "characters": [dict(each) for each in book.characters]}
