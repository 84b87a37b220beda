"""Finished prose: novels of ELTeC, and texts of a strong model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.proofing import corpus
from bookgen.words import count_words
from bookgen.writing.blocks import paragraphs

MIN_CHAPTER_WORDS = 300
MAX_CHAPTER_WORDS = 6_000
_CHAPTER_FILE = re.compile(r"chapter-\d|\d")
_ESCAPED = re.compile(r"\\([\\`*_\[\]<>#|])")


@dataclass(frozen=True, slots=True)
class Authored:
    name: str
    tag: str
    genre: str
    chapters: tuple[str, ...]

    @property
    def words(self) -> int:
        return sum(map(count_words, self.chapters))


def novels(folder: Path, tag: str) -> Iterator[Authored]:
    """The novels of a language from checkouts of ELTeC, divided into chapters as long as ours."""
    for novel in corpus.every_novel(folder, tag):
        texts = [_ESCAPED.sub(r"\1", each.content) for each in novel.text.texts.values()]
        chapters = tuple(piece for text in texts for piece in _pieces(text))
        if chapters:
            yield Authored(novel.name, tag, "Novel", chapters)


def _pieces(text: str) -> Iterator[str]:
    held: list[str] = []
    words = 0
    for block in paragraphs(text):
        held.append(block)
        words += count_words(block)
        if words >= MAX_CHAPTER_WORDS:
            yield "\n\n".join(held)
            held, words = [], 0
    if words >= MIN_CHAPTER_WORDS:
        yield "\n\n".join(held)


def written_by_a_model(folder: Path) -> Iterator[Authored]:
    """The chapters in the folder and its subfolders: one book per folder."""
    for inner in sorted({file.parent for file in folder.rglob("*.txt")}):
        files = [file for file in sorted(inner.glob("*.txt")) if _CHAPTER_FILE.match(file.name)]
        texts = (file.read_text("utf-8").strip() for file in files)
        chapters = tuple(text for text in texts if not text.startswith("{") and count_words(text) >= MIN_CHAPTER_WORDS)
        if chapters:
            tag = "de" if "german" in inner.name else "en"
            yield Authored(str(inner.relative_to(folder)), tag, "How-to" if "how" in inner.name else "Novel", chapters)
