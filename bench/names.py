"""How often names recur among books of one service: names that code draws, and those in the offline model's outlines.

In a study, 88 % of 20,000 stories by models had at least one of eleven words (arXiv 2605.26492). The bars for 1,000
books: no name in more than 2 % of them, and those words in at most 5 %.

    python -m bench.names [--books 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bookgen import person_names
from bookgen.models import Book
from bookgen.providers import offline
from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.writing import drawn_names
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import a_book, says

MAX_NAME_PERCENT, MAX_WORDS_PERCENT = 2.0, 5.0  # per cent of the books
NAMES = ("mara", "elias", "elara")
ELEVEN = (*NAMES, "lighthouse", "keeper", "baker", "mayor", "clockmaker", "fisherman", "librarian", "conductor")
GENRES = ("Novel", "Fantasy", "Crime novel", "Romance", "Science fiction", "Historical novel", "Horror", "Adventure")
LANGUAGES = ("en", "de", "fr", "es")  # of the offline model's phrases


@dataclass(frozen=True, slots=True)
class Commonness:
    """The most common name in `books`, its share in per cent, and the share of books with one of the eleven words."""

    books: int
    name: str
    share: float
    words: float

    @property
    def is_within(self) -> bool:
        return self.share <= MAX_NAME_PERCENT and self.words <= MAX_WORDS_PERCENT


class SampleModelSteps:
    """Steps with the offline model's replies, which are not stored."""

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        return says(offline.answer(request), StopReason.END)

    async def has(self, request: TextRequest) -> bool:
        return False


def commonness(books: Iterable[tuple[set[str], str]], language: str) -> Commonness:
    """How common names are among books, each given by its people's names and its whole text.

    Those of the eleven words that are not names are searched for in English only: in Spanish, a "conductor" is a
    driver.
    """
    looked_for = re.compile(rf"\b(?:{'|'.join(ELEVEN if language == 'en' else NAMES)})s?\b", re.IGNORECASE)
    counted: Counter[str] = Counter()
    total = worded = 0
    for people, text in books:
        total += 1
        counted.update(people)
        worded += bool(looked_for.search(text))
    name, most = counted.most_common(1)[0] if counted else ("", 0)
    return Commonness(total, name, 100 * most / total, 100 * worded / total)


def drawn(language: str, count: int) -> Commonness:
    """The names drawn for the outlines of `count` novels in a language."""
    return commonness((_of_draw(book) for book in books(count, language)), language)


def _of_draw(book: Book) -> tuple[set[str], str]:
    text = drawn_names.drawn(book)
    listed = next((line for line in text.splitlines() if line.startswith(drawn_names.NAMES_OPEN.partition("{")[0])), "")
    entries = [name for part in listed.rstrip(".").split("; ") for name in part.rpartition(": ")[2].split(", ")]
    return set(filter(None, entries)), text


async def planned(language: str, count: int) -> Commonness:
    """The offline model's outlines of `count` novels, which are too long for its sample story."""
    return commonness([await _of_outline(book) for book in books(count, language)], language)


async def _of_outline(book: Book) -> tuple[set[str], str]:
    outline = await draft_outline(book, SampleModelSteps())
    people = {part for each in outline.bible["people"] for part in each["name"].split(" ", 1)}
    chapters = [(each.title, each.summary) for each in outline.chapters]
    return people, json.dumps([outline.bible, chapters], ensure_ascii=False)


def books(count: int, language: str) -> Iterator[Book]:
    base = a_book(bible={}, chapter_count=12, target_word_count=90_000, content_language=language, description="")
    for number in range(1, count + 1):
        yield replace(base, id=number, title=f"Book {number}", genre=GENRES[number % len(GENRES)])


def _row(what: str, found: Commonness, note: str = "") -> None:
    print(f"{what:24} {found.name:>16} {found.share:6.1f} %   {found.words:6.1f} %   {note}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=int, default=1_000)
    count = parser.parse_args().books
    print(f"Of {count} books each          the commonest name   in   eleven words in")
    measured = [(f"drawn, {language}", drawn(language, count), _lists(language)) for language in person_names.REGIONS]
    measured += [(f"offline plan, {each}", asyncio.run(planned(each, count)), "") for each in LANGUAGES]
    for row in measured:
        _row(*row)
    missed = [what for what, found, _ in measured if not found.is_within]
    print(f"Missed: {', '.join(missed)}." if missed else "Bars passed.")
    return bool(missed)


def _lists(language: str) -> str:
    people = person_names.pool(language)
    return f"of {len(people.women)} women, {len(people.men)} men, {len(people.surnames)} surnames"


if __name__ == "__main__":
    raise SystemExit(main())
