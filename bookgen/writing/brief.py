"""The brief: what one call is asked for, as JSON at the end of its last user message.

    <brief>
    {"stage": "chapter", "language": "de", "title": "...", ...}
    </brief>

It says the same as the prose before it, in a form that a program can read: the offline model and scripted
servers answer from it alone. A model reads it as data, so a user's words in it are not instructions; `<` and
`>` are escaped, so no field can close the block.

Every brief has `stage`, `language`, `title`, `subtitle`, `genre`, `audience`, `chapter_count`,
`target_word_count` and `seed` (changes when a fresh text is wanted). By stage it adds:

outline    description, first, last: the chapter numbers wanted in this reply
rework     instructions, chapters: [{number, title, summary}] to think out anew
chapter    chapter_number, chapter_title, chapter_summary, people (names), part, parts, words (of this part),
           characters (the same length, null in scripts with spaces), written (words of the chapter so far),
           chapter_words (its budget), task: "write", "continue" (the last reply was cut), "extend" or
           "close" (a few sentences to end a chapter that broke off)
revise     chapter_number, chapter_title, problem, passage: the passage to put differently
digest     chapter_number, chapter_title, threads: the open threads, numbered from 1
support    question

A repair (the reply before it was not the JSON that was asked for) has the fields of its request and `problem`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from bookgen.models import Book

OPEN, CLOSE = "<brief>", "</brief>"


def block(stage: str, book: Book, **fields: object) -> str:
    """The brief of a call about `book`."""
    return wrap(
        {
            "stage": stage,
            "language": book.content_language,
            "title": book.title,
            "subtitle": book.subtitle,
            "genre": book.genre,
            "audience": book.target_audience,
            "chapter_count": book.chapter_count,
            "target_word_count": book.target_word_count,
            **fields,
        }
    )


def read(text: str) -> dict[str, object]:
    """The fields of the brief at the end of `text`; none when it has no brief."""
    start, end = text.rfind(OPEN), text.rfind(CLOSE)
    fields = json.loads(text[start + len(OPEN) : end]) if 0 <= start < end else {}
    return fields if isinstance(fields, dict) else {}


def wrap(fields: Mapping[str, object]) -> str:
    """`fields` as a brief. The bytes depend on the fields and their order alone."""
    text = json.dumps(fields, ensure_ascii=False)
    return f"{OPEN}\n{text.replace('<', chr(92) + 'u003c').replace('>', chr(92) + 'u003e')}\n{CLOSE}"
