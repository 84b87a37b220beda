"""Puts passages into a book, reads the note of each chapter as the service does, and collects what the rules find."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.facts.carriers import Carrier
from bench.facts.templates import DETAIL, KINDS, LISTS, ToldContradiction, ToldPassage, contradiction, honest_of, read
from bookgen.models import Book, Chapter, Fact
from bookgen.person_names import pool
from bookgen.writing.facts.corrections import with_changes
from bookgen.writing.facts.findings import editor_findings
from bookgen.writing.facts.noting import read_facts
from bookgen.writing.review.findings import EditorFinding, TextSpan
from tests.writing.scripted import a_book, a_chapter

# Faker has no Japanese names that `bookgen.person_names` accepts.
JAPANESE = ("佐藤健", "高橋美咲", "小林一郎", "渡辺千尋", "中村拓", "伊藤直子", "山口修", "松本葵", "井上誠", "木村薫")


@dataclass(frozen=True, slots=True)
class PlantedBook:
    """A book with a contradiction, or with passages that only look like one."""

    carrier: Carrier
    told: ToldContradiction
    chapters: tuple[Chapter, ...]
    facts: tuple[Fact, ...]
    spans: tuple[TextSpan, ...]

    @property
    def book(self) -> Book:
        bible = _bible(self.told, self.told.after)
        changes = with_changes([], _bible(self.told, self.told.before), bible) if self.told.after else []
        return a_book(content_language=self.told.language, bible=bible, bible_changes=changes)

    def findings(self) -> list[EditorFinding]:
        return editor_findings(self.book, self.facts, self.chapters)

    def is_found(self, finding: EditorFinding) -> bool:
        """Whether the finding quotes every passage of the contradiction, and nothing else."""
        quoted = [finding.place, *finding.others]
        hits = {next((span for span in self.spans if span.overlaps(each)), None) for each in quoted}
        return hits == set(self.spans)


def _bible(told: ToldContradiction, description: str) -> dict[str, list[dict[str, str]]]:
    first, second = told.people
    return {"people": [{"name": first, "description": description}, {"name": second, "description": ""}]}


def planted(carrier: Carrier, told: ToldContradiction, rng: random.Random) -> PlantedBook:
    """The book with each passage in a separate chapter. The last of three passages shares the last chapter."""
    first, last = sorted(rng.sample(range(len(carrier.chapters)), 2))
    places = [first, *([last] * (len(told.passages) - 1))]
    texts = [text.split("\n\n") for text in carrier.chapters]
    at = {place: rng.randint(0, len(texts[place])) for place in dict.fromkeys(places)}
    for place, passage in reversed(list(zip(places, told.passages, strict=True))):
        texts[place].insert(at[place], passage.text)
    chapters = [a_chapter(number, content="\n\n".join(text)) for number, text in enumerate(texts, 1)]
    facts: list[Fact] = []
    for index, chapter in enumerate(chapters):
        here = [passage for place, passage in zip(places, told.passages, strict=True) if place == index]
        facts += read_facts(_note(here), chapter.chapter_number, chapter.content, ())
    spans = [_span(chapters[place], passage) for place, passage in zip(places, told.passages, strict=True)]
    return PlantedBook(carrier, told, tuple(chapters), tuple(facts), tuple(spans))


def _note(passages: Sequence[ToldPassage]) -> dict[str, object]:
    """A model's note of a chapter with these passages."""
    names = ("kind", "subject", "value")
    noted = [(fact, passage.text) for passage in passages for fact in passage.facts]
    return {"facts": [dict(zip(names, fact, strict=True)) | {"quote": text} for fact, text in noted]}


def _span(chapter: Chapter, passage: ToldPassage) -> TextSpan:
    start = chapter.content.index(passage.text)
    return TextSpan(chapter.chapter_number, start, start + len(passage.text))


def people(language: str, rng: random.Random) -> tuple[str, str]:
    """Two people without a common name."""
    if language == "ja":
        one, other = rng.sample(JAPANESE, 2)
        return one, other
    names = pool(language)
    seconds = (
        names.surnames if len(names.surnames) > 1 else names.women
    )  # for languages in which Faker has hardly any surnames
    given, surnames = (
        rng.sample(names.men, 2),
        rng.sample(seconds, 2),
    )
    if language in ("ko", "zh"):
        return surnames[0] + given[0], surnames[1] + given[1]
    return f"{given[0]} {surnames[0]}", f"{given[1]} {surnames[1]}"


def contradictions(books: Sequence[Carrier], each: int, seed: int = 1) -> Iterator[PlantedBook]:
    """For every template of every language, `each` books with different people and places."""
    rng = random.Random(seed)
    for name in LISTS:
        for language, templates in read(name).items():
            there = [book for book in books if book.language == language]
            for kind in (each for each in KINDS if each in templates):
                for number in range(each):
                    told = contradiction(name, language, kind, people(language, rng), templates[kind])
                    yield planted(there[number % len(there)], told, rng)


def look_alikes(books: Sequence[Carrier], each: int, seed: int = 2) -> Iterator[PlantedBook]:
    """Books with passages that only look like a contradiction."""
    rng, sentences = random.Random(seed), read("honest")
    for found in contradictions(books, each, seed):
        if found.told.kind != DETAIL:
            for told in honest_of(found.told, sentences[found.told.language]):
                yield planted(found.carrier, told, rng)


def unchanged(carrier: Carrier, notes: Sequence[Fact] = ()) -> list[EditorFinding]:
    """What the rules find in an unchanged book, from its noted facts."""
    chapters = [a_chapter(number, content=text) for number, text in enumerate(carrier.chapters, 1)]
    return editor_findings(a_book(content_language=carrier.language, bible={}), notes, chapters)
