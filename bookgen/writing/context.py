"""The context of every call about a book, ordered so that a provider's prompt cache covers most of it.

The prompt begins with the rules for writing and the book, which stay the same for the whole book. Next comes one block
for each earlier chapter, with its text, or its digest (summary and facts) if the text does not fit. What changes with
every chapter comes last, in the user's turn.

Nothing depends on the clock or on the order of a mapping, and only the user's turn depends on the chapter being
written. In a collection of separate stories, the last block does too: it has the people and places of
the story.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bookgen.models import UNNAMED_AUTHOR, Book, Chapter, Digest, StoryKind, has_separate_stories, story_kind
from bookgen.providers.text import Block
from bookgen.writing import sentences, stories
from bookgen.writing.craft import craft
from bookgen.writing.fence import fenced
from bookgen.writing.window import SMALL, WINDOW, clip, scaled

# Limits in tokens. Even with 120 chapters, a prompt with all of these, the request for a part, and the text of its
# chapter so far fits into window.WINDOW.
BIBLE = 2_400
DESCRIPTION = 1_400
ALL_BRIEFS = 7_000
ALL_DIGESTS = 10_000
MIN_CHAPTER_TOKENS = 40
MAX_BRIEF_TOKENS = 200
MAX_DIGEST_TOKENS = 320
MIN_NEIGHBOURS = 3  # chapters whose plan is included, however small the window is


def data(text: str) -> str:
    """`text` between <book_data> tags, with any such tag inside it made harmless."""
    return fenced("book_data", text)


def book_data(book: Book, window: int = WINDOW, *, author: bool = False) -> str:
    """The book's fields as its owner typed them, shortened to fit a context window of `window` tokens.

    `author`: name the author, for a call that plans or writes. Calls that only read the book do not get the author's
    name, unless the book is a memoir.
    """
    kind = story_kind(book)
    most = min(DESCRIPTION, window // 12)
    lines = [
        ("Title", book.title),
        ("Subtitle", book.subtitle),
        (
            _AUTHORS.get(kind, _AUTHOR_OF_FICTION),
            _name_of_author(book) if author or kind == StoryKind.MEMOIR else "",
        ),
        ("Genre", book.genre),
        ("Audience", book.target_audience),
        ("Idea", clip(book.description, most)),
        ("Wishes for the style", clip(book.style_notes, most)),
        ("Theme", book.theme),
        ("Characters", "; ".join(f"{each['name']}: {each['description']}".rstrip(": ") for each in book.characters)),
    ]
    return data("\n".join(f"{name}: {value.strip()}" for name, value in lines if value.strip()))


# How a prompt names the author, by the kind of book. An undecided book may be fiction.
_AUTHORS: Mapping[str, str] = {
    StoryKind.MEMOIR: "Author, who remembers",
    StoryKind.NON_FICTION: "Author",
    StoryKind.VERSE: "Author",
}
_AUTHOR_OF_FICTION = "Author (in fiction not a character, unless the idea says so)"


def _name_of_author(book: Book) -> str:
    name = book.author_name.strip()
    return "" if name.casefold() == UNNAMED_AUTHOR.casefold() else name


BOOK = """\
{craft}

# The book

{book}

# What is settled about it

{bible}

# All its chapters, in order

{outline}"""
STORY = """\
# What is settled about the story of chapter {number}

{entries}"""


def system(
    book: Book,
    chapters: Sequence[Chapter],
    digests: Sequence[Digest],
    *,
    shown: Sequence[Block] = (),
    first_call: bool = False,
    window: int = WINDOW,
    number: int = 1,
) -> tuple[Block, ...]:
    """The system prompt of a writing call: the book, and each earlier chapter as text (`shown`) or in `digests`.

    The `first_call` of a chapter also sets a cache mark where the prompt of the previous chapter ended, so that this
    prefix is read from the cache. In a `window` below WINDOW, the outline has only chapters near chapter `number`.

    For a separate story, the prompt has the titles of the other stories, but neither their plan nor their people.
    """
    is_separate = has_separate_stories(book)
    listed = [replace(chapter, summary="") for chapter in chapters] if is_separate else chapters
    static = BOOK.format(
        craft=craft(book, brief=window < SMALL),
        book=book_data(book, window, author=True),
        bible=data(clip(bible(stories.shared(book.bible) if is_separate else book.bible), scaled(BIBLE, window))),
        outline=data(outline(listed, window, number)),
    )
    earlier = [*digest_blocks(chapters, digests, window=window), *shown]
    if is_separate and (entries_told := _bible_lines(stories.of_story(book.bible, number))):
        told = data(clip("\n".join(entries_told), scaled(BIBLE, window)))
        earlier.append(Block(STORY.format(number=number, entries=told)))
    marked = len(earlier) - (2 if first_call else 1)
    return (Block(static, cache=True), *(replace(each, cache=at >= marked) for at, each in enumerate(earlier)))


def bible(settled: Mapping[str, Any]) -> str:
    """The bible (what is settled about the book) as lines.

    The bible may have any shape, since its owner can edit it.
    """
    return "\n".join(_bible_lines(settled)) or "Nothing yet."


def entries(settled: Mapping[str, Any], *lists: str) -> list[Mapping[str, Any]]:
    """The records in those lists of a bible that are called `lists`, such as "people".

    The owner can edit the bible, so values of other types are skipped.
    """
    found = (settled.get(name) for name in lists)
    return [entry for each in found if isinstance(each, list) for entry in each if isinstance(entry, Mapping)]


# The order of the fields in a prompt. If the window is small, the last ones are left out first.
_FIRST_KEYS = (
    "premise", "voice", "voice_sample", "avoid", "outcome", "arc", "people", "places", "terms", "motifs", "material",
    "name", "description",
)  # fmt: skip


def _ordered(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The fields in a fixed order, independent of the order in which the database returns them."""
    ranks = {key: rank for rank, key in enumerate(_FIRST_KEYS)}
    return sorted(record.items(), key=lambda field: (ranks.get(str(field[0]), len(ranks)), str(field[0])))


def _bible_lines(settled: Mapping[str, Any]) -> list[str]:
    """The bible's fields as lines of a prompt, each with its name.

    The field `kind` is left out, because it has already decided which rules for writing are in the prompt.
    """
    lines = []
    for key, value in _ordered({key: value for key, value in settled.items() if key != "kind"}):
        name = str(key).replace("_", " ").capitalize()
        if isinstance(value, str) and value.strip():
            lines.append(f"{name}: {value.strip()}")
        elif isinstance(value, list) and value:
            lines.append(f"{name}:")
            lines.extend(f"- {_entry(item)}" for item in value)
        elif value and not isinstance(value, str):
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}")
    return lines


def described(name: str = "", *description: str) -> str:
    """A name and its description. A name that ends with a colon, such as that of a warning, gets no second one."""
    return ": ".join((name.removesuffix(":") if description else name, *description))


def _entry(item: object) -> str:
    if isinstance(item, Mapping):
        parts = [(key, str(part).strip()) for key, part in _ordered(item) if str(part).strip()]
        named = [part if key in ("name", "description") else f"{key}: {part}" for key, part in parts]
        return f"{described(*named[:2])}{''.join(f'; {each}' for each in named[2:])}"
    return str(item).strip()


def outline(chapters: Sequence[Chapter], window: int = WINDOW, number: int = 1) -> str:
    total = scaled(ALL_BRIEFS, window)
    most = share(total, len(chapters), MAX_BRIEF_TOKENS)
    return "\n".join(
        clip(f"{chapter.chapter_number}. {chapter.title}: {chapter.summary}".rstrip(": "), most)
        for chapter in (chapters if window >= WINDOW else _around(chapters, number, max(total // most, MIN_NEIGHBOURS)))
    )


def _around(chapters: Sequence[Chapter], number: int, most: int) -> list[Chapter]:
    """The `most` chapters nearest to chapter `number`, in order."""
    nearest = sorted(chapters, key=lambda chapter: abs(chapter.chapter_number - number))[:most]
    return sorted(nearest, key=lambda chapter: chapter.chapter_number)


def digest_blocks(chapters: Sequence[Chapter], digests: Sequence[Digest], *, window: int = WINDOW) -> tuple[Block, ...]:
    """The digests as blocks of the prompt, one block per digest.

    If `window` is below WINDOW, only the last digests are included. A block stays the same as long as the text of its
    chapter does.
    """
    titles = {chapter.chapter_number: chapter.title for chapter in chapters}
    total = scaled(ALL_DIGESTS, window)
    most = share(total, len(chapters), MAX_DIGEST_TOKENS)
    shown = digests if window >= WINDOW else digests[-max(total // most, 1) :]
    return tuple(Block(clip(_digest_text(digest, titles.get(digest.chapter_number, "")), most)) for digest in shown)


def _digest_text(digest: Digest, title: str) -> str:
    lines = [f"Chapter {digest.chapter_number}, {title}, has told: {digest.summary}"]
    if digest.facts:
        lines.append(f"Settled by it: {sentences.as_list(digest.facts)}")
    return "\n".join(lines)


def share(tokens: int, chapters: int, most: int) -> int:
    """The tokens for each chapter if `chapters` chapters share `tokens`: at least MIN_CHAPTER_TOKENS, at most `most`.

    The result does not depend on the chapters' texts, so that cached prompts stay the same.
    """
    return max(MIN_CHAPTER_TOKENS, min(most, tokens // max(chapters, 1)))
