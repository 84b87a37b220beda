"""The books that contradictions are planted in: recorded books, those of the trial, and sample stories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.authored.corpus import read_books
from bookgen.providers.sample.story import load, told_in
from bookgen.words import count_words

BENCH = Path(__file__).parent.parent
FOREIGN, TRIAL = BENCH / "authored" / "foreign", BENCH / "trial" / "texts"
CHAPTERS = 5  # of a sample story; the offline model tells it in any number of chapters

_HEADING = re.compile(r"^## .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A book: its chapters' texts, and the names in its bible (`people`)."""

    name: str
    language: str
    chapters: tuple[str, ...]
    people: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        return sum(count_words(text) for text in self.chapters)


def carriers(languages: tuple[str, ...]) -> list[Carrier]:
    """All books in these languages with at least two chapters."""
    found = [*_authored(), *_of_the_trial(), *_samples(languages), *_foreign(languages)]
    return [each for each in found if each.language in languages and len(each.chapters) > 1]


def _authored() -> Iterator[Carrier]:
    for book in read_books([]):
        texts = tuple(book.text(number) for number in sorted(book.replies))
        yield Carrier(book.name, book.language.split("-")[0], texts, _people(json.loads(book.outline)))


def _of_the_trial() -> Iterator[Carrier]:
    for path in sorted(TRIAL.glob("*.md")):
        texts = _HEADING.split(path.read_text(encoding="utf-8"))[1:]
        outline = json.loads((TRIAL / f"{path.stem.partition('-')[0]}-outline.json").read_text(encoding="utf-8"))
        yield Carrier(path.stem, "en", tuple(text.strip() for text in texts), _people(outline))


def _people(outline: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry["name"]) for entry in outline["bible"].get("people", []))


def _samples(languages: tuple[str, ...]) -> Iterator[Carrier]:
    for language in languages:
        if load(language):
            texts = tuple(chapter.text for chapter in told_in(language, CHAPTERS))
            yield Carrier(f"sample story, {language}", language, texts)


def _foreign(languages: tuple[str, ...]) -> Iterator[Carrier]:
    """The tales of bench/authored/foreign, each as two chapters."""
    for path in sorted(FOREIGN.glob("*.txt")):
        paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
        half = len(paragraphs) // 2
        if path.stem in languages and half:
            texts = "\n\n".join(paragraphs[:half]), "\n\n".join(paragraphs[half:])
            yield Carrier(f"tale, {path.stem}", path.stem, texts)
