"""How often books of the same service have the same names: what code draws for them, and the offline model's plans.

In 20,000 stories by models eleven words stood in 88 % (arXiv 2605.26492). The bars: of 1,000 books no name in more than
2 %, and those words in at most 5 %.

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

from bookgen import names
from bookgen.models import Book
from bookgen.providers import offline
from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.writing import given
from bookgen.writing.outline import draft_outline
from tests.writing.scripted import a_book, says

MOST_OF_A_NAME, MOST_OF_THE_WORDS = 2.0, 5.0  # per cent of the books
NAMES = ("mara", "elias", "elara")
ELEVEN = (*NAMES, "lighthouse", "keeper", "baker", "mayor", "clockmaker", "fisherman", "librarian", "conductor")
GENRES = ("Novel", "Fantasy", "Crime novel", "Romance", "Science fiction", "Historical novel", "Horror", "Adventure")
LANGUAGES = ("en", "de", "fr", "es")  # of the offline model's phrases


@dataclass(frozen=True, slots=True)
class Commonness:
    """Of `books`: the name that most of them have, in how many per cent, and how many have one of the eleven words."""

    books: int
    name: str
    share: float
    words: float

    @property
    def is_within(self) -> bool:
        return self.share <= MOST_OF_A_NAME and self.words <= MOST_OF_THE_WORDS


class SampleModelSteps:
    """The offline model's replies, stored nowhere."""

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        return says(offline.answer(request), StopReason.END)

    async def has(self, request: TextRequest) -> bool:
        return False


def commonness(books: Iterable[tuple[set[str], str]], language: str) -> Commonness:
    """How common names are among books, each given by its people's names and its whole text.

    Of the eleven words those that are no names are looked for in English alone: a "conductor" in Spanish drives.
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
    """What is drawn for the outlines of `count` novels of a language."""
    return commonness((_of_draw(book) for book in books(count, language)), language)


def _of_draw(book: Book) -> tuple[set[str], str]:
    text = given.drawn(book)
    listed = next((line for line in text.splitlines() if line.startswith(given.NAMES_OPEN.partition("{")[0])), "")
    entries = [name for part in listed.rstrip(".").split("; ") for name in part.rpartition(": ")[2].split(", ")]
    return set(filter(None, entries)), text


async def planned(language: str, count: int) -> Commonness:
    """The outlines of `count` novels by the offline model, too long for its sample story."""
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
    measured = [(f"drawn, {language}", drawn(language, count), _lists(language)) for language in names.REGIONS]
    measured += [(f"offline plan, {each}", asyncio.run(planned(each, count)), "") for each in LANGUAGES]
    for row in measured:
        _row(*row)
    missed = [what for what, found, _ in measured if not found.is_within]
    print(f"Missed: {', '.join(missed)}." if missed else "Bars passed.")
    return bool(missed)


def _lists(language: str) -> str:
    people = names.pool(language)
    return f"of {len(people.women)} women, {len(people.men)} men, {len(people.surnames)} surnames"


if __name__ == "__main__":
    raise SystemExit(main())
