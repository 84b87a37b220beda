"""Books of the authored corpus with recorded reviews and revisions.

`wrong-note` has the answers of the trial on which the review was based, in the current form. The others were answered
for the current prompts by the model that wrote the books: one review and one revision each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.authored.corpus import BOOKS, read_book
from bookgen.words import count_words
from bookgen.writing.material import Material
from bookgen.writing.review.findings import BookReview, review_of
from bookgen.writing.review.reading import read_claims
from tests.writing.scripted import a_book, a_chapter

RECORDED = Path(__file__).parent
NAMES = ("wrong-note", "name-day", "first-loaf", "die-chronik-von-walsheim")


def written_book(name: str) -> Material:
    """A book of the corpus with all chapters written."""
    recorded = read_book(BOOKS / name)
    plan = json.loads(recorded.outline)
    fields = {key: recorded.body[key] for key in ("title", "genre", "target_audience", "description", "style_notes")}
    total = recorded.body["target_word_count"]
    chapters = tuple(
        a_chapter(
            number,
            words=total // len(recorded.replies),
            title=planned["title"],
            summary=planned["summary"],
            content=recorded.text(number).strip(),
        )
        for number, planned in enumerate(plan["chapters"].values(), 1)
    )
    book = a_book(
        **fields,
        chapter_count=len(chapters),
        target_word_count=total,
        content_language=recorded.language,
        bible=plan["bible"],
    )
    return Material(book, chapters)


def answer(name: str, call: str) -> dict[str, Any]:
    """The recorded reply of a call: `reading` or `revision`."""
    reply: dict[str, Any] = json.loads((RECORDED / name / f"{call}.json").read_text(encoding="utf-8"))
    return reply


def reviewed(name: str) -> tuple[Material, BookReview]:
    """A book and the findings of its recorded review."""
    material = written_book(name)
    return material, review_of(read_claims(answer(name, "reading")), material)


def words_of(material: Material) -> int:
    return sum(count_words(chapter.content) for chapter in material.chapters)
