"""The recorded books of `books/`, as README.md describes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookgen.words import count_words
from bookgen.writing.budget import spread
from bookgen.writing.material import Material
from tests.writing.scripted import a_book, a_chapter

BOOKS = Path(__file__).parent / "books"
VERSE = ("verse", "poem", "children")


@dataclass(frozen=True)
class AuthoredBook:
    """The replies of one model for one book. `replies` and `notes` are raw, by chapter number."""

    name: str
    body: dict[str, Any]
    outline: str
    replies: dict[int, str]
    notes: dict[int, str]

    @property
    def is_childrens(self) -> bool:
        return "age_range" in self.body

    @property
    def is_prose(self) -> bool:
        genre = str(self.body.get("genre", "")).casefold()
        return not self.is_childrens and not any(word in genre for word in VERSE)

    @property
    def language(self) -> str:
        return str(self.body["content_language"])

    @property
    def words(self) -> int:
        return sum(count_words(self.text(number)) for number in self.replies)

    def text(self, number: int) -> str:
        """The text to print: the reply, or in a picture book the lines in it, one paragraph each."""
        reply = self.replies[number]
        return "\n\n".join(json.loads(reply)["text"].split("\n")) if self.is_childrens else reply


def read_book(folder: Path) -> AuthoredBook:
    def numbered(kind: str) -> dict[int, str]:
        files = sorted(folder.glob(f"{kind}-*.txt"))
        return {int(file.stem.rpartition("-")[2]): file.read_text(encoding="utf-8") for file in files}

    body = json.loads((folder / "book.json").read_text(encoding="utf-8"))
    outline = (folder / "outline.txt").read_text(encoding="utf-8")
    book = AuthoredBook(folder.name, body, outline, numbered("chapter"), numbered("note"))
    planned = len(json.loads(outline)["chapters"])
    if sorted(book.replies) != list(range(1, planned + 1)):
        raise SystemExit(f"{folder.name}: the outline has {planned} chapters, the folder has {sorted(book.replies)}.")
    return book


def read_books(names: list[str]) -> list[AuthoredBook]:
    """The books with these names, or all books if `names` is empty."""
    folders = [BOOKS / name for name in names] if names else sorted(BOOKS.iterdir())
    missing = [folder.name for folder in folders if not (folder / "book.json").is_file()]
    if missing:
        raise SystemExit(f"No such book in {BOOKS}: {', '.join(missing)}.")
    return [read_book(folder) for folder in folders]


def one_chapter(book: AuthoredBook, number: int, *, language: str = "") -> Material:
    """The book without text, to request chapter `number` alone. The chapter's budget is the length of its reply."""
    plan = json.loads(book.outline)
    budgets = spread(book.body.get("target_word_count", book.words), len(book.replies))
    chapters = []
    for index, planned in enumerate(plan["chapters"].values(), 1):
        words = max(count_words(book.text(number)), 1) if index == number else budgets[index - 1]
        chapters.append(a_chapter(index, words=words, title=planned["title"], summary=planned["summary"]))
    fields = {key: book.body[key] for key in ("title", "genre", "target_audience", "description", "style_notes")}
    made = a_book(
        **fields,
        chapter_count=len(chapters),
        target_word_count=sum(chapter.target_word_count for chapter in chapters),
        content_language=language or book.language,
        bible=plan["bible"],
    )
    return Material(made, tuple(chapters))
