"""Novels that no rule was tuned on, read from checkouts of the European Literary Text Collection (ELTeC)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lxml import etree

from bookgen.words import count_words
from bookgen.writing.proofreading.book import BookText, ChapterText

# The folders of each language's novels: github.com/COST-ELTeC/ELTeC-deu and so on, each under CC BY 4.0.
FOLDERS = {
    "cs": "ELTeC-cze/level1",
    "de": "ELTeC-deu/level1",
    "el": "ELTeC-gre/level1",
    "en": "ELTeC-eng/level1",
    "es": "ELTeC-spa/level1",
    "fr": "ELTeC-fra/level1",
    "it": "ELTeC-ita/level1",
    "pl": "ELTeC-pol/level1",
    "pt": "ELTeC-por/level1",
    "ru": "ELTeC-rus/level0",
    "sv": "ELTeC-swe/level1",
    "uk": "ELTeC-ukr/level1",
}
NOVELS = 8  # per language and half
MIN_WORDS, MAX_WORDS = 5_000, 25_000  # of a novel

_TEI = "{http://www.tei-c.org/ns/1.0}"
_NO_PROSE = {f"{_TEI}{tag}" for tag in ("note", "ref", "head", "figure", "fw", "gap", "teiHeader", "front", "back")}
_SPACE = re.compile(r"[ \t\r\n]+")  # white space of the markup, whose amount means nothing
_EDGE = "\0"  # the edge of an inline element
_SPACE_AT_EDGE = re.compile(r"(?:\s*\0\s*)+(?=[,.;:!?])")  # white space of the markup as well: "<hi>Times</hi> ,"
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|])")


class Half(StrEnum):
    """Rules are developed with one half of the novels and of the kinds of mistakes, and judged by the other half."""

    DEVELOPMENT = "development"
    HELD = "held"


@dataclass(frozen=True)
class Novel:
    name: str
    text: BookText
    words: int


def novels(folder: Path, tag: str, half: Half) -> Iterator[Novel]:
    """One half of the language's novels, in an order that depends only on file names."""
    files = [file for file in (folder / FOLDERS[tag]).glob("*.xml") if half_of(file.name) is half]
    found = 0
    for file in sorted(files, key=lambda file: _digest(file.name)):
        novel = _novel(file, tag)
        if novel.words >= MIN_WORDS:
            yield novel
            found += 1
        if found == NOVELS:
            return


def every_novel(folder: Path, tag: str) -> Iterator[Novel]:
    """All available novels of the language, up to `MAX_WORDS` words of each."""
    return (_novel(file, tag) for file in sorted((folder / FOLDERS[tag]).glob("*.xml")))


def half_of(name: str) -> Half:
    """The half of a novel's file or of a kind of mistakes, which depends only on its name."""
    return (Half.DEVELOPMENT, Half.HELD)[_digest(name)[0] % 2]


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def _novel(file: Path, tag: str) -> Novel:
    chapters: list[str] = [""]
    words = 0
    for paragraph, opens in _paragraphs(file):
        if words >= MAX_WORDS:
            break
        if opens and chapters[-1]:
            chapters.append("")
        chapters[-1] += f"{paragraph}\n\n"
        words += count_words(paragraph)
    return Novel(file.stem, book_of(chapters, tag), words)


def book_of(chapters: Sequence[str], tag: str) -> BookText:
    texts = {number: ChapterText(content, tag) for number, content in enumerate(chapters, 1)}
    return BookText(texts, tag, frozenset())


def _paragraphs(file: Path) -> Iterator[tuple[str, bool]]:
    """Each paragraph as Markdown, and whether it is the first one of a division."""
    tree = etree.parse(file, etree.XMLParser(recover=True, huge_tree=True))
    for body in tree.iter(f"{_TEI}body"):
        opens = False
        for element in body.iter():
            if element.tag == f"{_TEI}div":
                opens = True
            elif element.tag == f"{_TEI}p" and (text := _text(element)):
                yield text, opens
                opens = False


def _text(element: etree._Element) -> str:
    said = _SPACE_AT_EDGE.sub("", "".join(_said(element))).replace(_EDGE, "")
    return _MARKDOWN.sub(r"\\\1", _SPACE.sub(" ", said)).strip()


def _said(element: etree._Element) -> Iterator[str]:
    if element.tag not in _NO_PROSE:
        yield element.text or ""
        for child in element:
            yield from _said(child)
            yield " " if child.tag == f"{_TEI}lb" else _EDGE
            yield child.tail or ""
