"""Generated books to measure with: the same on every machine, and of any length.

The words are drawn from a fixed vocabulary, so that word lengths, hyphenation and line breaking resemble English.
"""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from datetime import UTC, datetime

from PIL import Image

from bookgen.models import Book, BookStatus, Chapter, ChapterStatus
from bookgen.render.model import Picture, PlacedPicture

_WORDS = """
the of and to in a was he that it his her with as had for she not but at on they have him be which from this all
were when said there their what would one been out up into them so then no if could more time like down over now
only about back its who little some just man before than hand did other never where two long way eyes through
again know thought old came house went such right first here great still might night day made must head door
upon come after good another every own well even looked how face room own light almost water three work between
world always away under years against morning small look voice turned nothing until enough window moment heart
without seemed because anything found across something beside quiet river harbour lantern garden winter summer
evening letter captain sister brother mother father stranger kitchen corridor staircase mountain village market
question answer silence shadow memory promise journey weather machine engine instrument calendar museum library
professor neighbour conversation possibility responsibility understanding extraordinary particularly immediately
throughout nevertheless circumstances unfortunately photograph temperature atmosphere neighbourhood
disappointment investigation determination administration communication international independent characteristic
simultaneously organisation architecture considerable experience remarkable difficult important different
several certain following beautiful patience courage surprise laughter distance surface pattern measure copper
silver wooden narrow hollow gentle bitter crooked ancient careful sudden steady patient restless curious honest
invisible forgotten wandered remembered whispered gathered listened followed answered carried watched opened
closed waited discovered recognised considered understood explained described arranged continued disappeared
returned trembled hesitated wondered imagined believed expected refused promised pretended suspected admitted
"""
VOCABULARY = _WORDS.split()
NAMES = ["Marta", "Eliot", "Ingrid", "Tomas", "Wren", "Halvard", "Odile", "Castor", "Beatrix", "Lindqvist"]
_WEIGHTS = [1.0 / (rank + 6) ** 0.72 for rank in range(len(VOCABULARY))]
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Corpus:
    """`paragraph`: the mean number of words per paragraph.

    `rich` adds lists, quotes, tables, code, notes and figures.
    """

    name: str
    chapters: int = 20
    words: int = 100_000
    paragraph: int = 75
    rich: bool = False


NOVEL = Corpus("novel")
DIALOGUE = Corpus("dialogue", paragraph=20)
RICH = Corpus("rich", rich=True)
ALL = (NOVEL, DIALOGUE, RICH)


def book(corpus: Corpus) -> tuple[Book, list[Chapter]]:
    writer = _Writer(corpus)
    chapters = [_chapter(number, *writer.chapter(number)) for number in range(1, corpus.chapters + 1)]
    return _book(corpus), chapters


FIGURE_AT = 3  # blocks before a chapter's figure


def illustrations(corpus: Corpus) -> list[PlacedPicture]:
    """The figures of a rich book: one in every second chapter."""
    if not corpus.rich:
        return []
    made = _photograph()
    return [
        PlacedPicture(number, FIGURE_AT, made, "A pale disc in the dark", "The lantern, seen from the harbour")
        for number in range(1, corpus.chapters + 1, 2)
    ]


def _photograph() -> Picture:
    out = io.BytesIO()
    Image.radial_gradient("L").resize((1200, 800)).convert("RGB").save(out, "JPEG", quality=88)
    return Picture(out.getvalue(), 1200, 800)


class _Writer:
    def __init__(self, corpus: Corpus) -> None:
        self._random = random.Random(7)
        self._corpus = corpus

    def chapter(self, number: int) -> tuple[str, str]:
        title = " ".join(word.capitalize() for word in self._words(self._random.choice([2, 3, 4])))
        blocks: list[str] = []
        notes: list[str] = []
        count = paragraphs = 0
        while count < self._corpus.words // self._corpus.chapters:
            paragraph = self._paragraph(self._corpus.paragraph)
            paragraphs += 1
            if self._corpus.rich:
                paragraph = self._enrich(paragraphs, number, paragraph, blocks, notes)
            if paragraphs % 23 == 19:
                blocks.append("***")
            blocks.append(paragraph)
            count += len(paragraph.split())
        return title, "\n\n".join(blocks + notes) + "\n"

    def _enrich(self, at: int, chapter: int, paragraph: str, blocks: list[str], notes: list[str]) -> str:
        if at % 11 == 5:
            blocks.append(("## " if at % 22 == 5 else "### ") + " ".join(word.capitalize() for word in self._words(4)))
        if at % 13 == 6:
            blocks.append("> " + self._paragraph(40))
        if at % 17 == 8:
            blocks.append("\n".join((f"{n}. " if at % 2 else "- ") + self._sentence() for n in range(1, 5)))
        if at % 29 == 12:
            rows = [f"| {' '.join(self._words(2))} | {self._random.randrange(10, 999)} | {self._words(1)[0]} |"] * 5
            blocks.append("\n".join(["| Item | Count | Note |", "|:---|---:|---|", *rows]))
        if at % 37 == 15:
            blocks.append('```python\ndef measure(pages, paper="white"):\n    return pages * THICKNESS[paper]\n```')
        if at % 9 == 3:
            notes.append(f"[^{chapter}-{len(notes) + 1}]: {self._sentence()}")
            return f"{paragraph}[^{chapter}-{len(notes)}]"
        return paragraph

    def _words(self, count: int) -> list[str]:
        return self._random.choices(VOCABULARY, weights=_WEIGHTS, k=count)

    def _paragraph(self, mean: int) -> str:
        goal = max(12, int(self._random.gauss(mean, mean * 0.45)))
        sentences: list[str] = []
        while sum(len(sentence.split()) for sentence in sentences) < goal:
            sentences.append(self._sentence(markup=True))
        return " ".join(sentences)

    def _sentence(self, *, markup: bool = False) -> str:
        pick = self._random
        count = max(4, int(pick.gauss(16, 7)))
        words = self._words(count)
        if pick.random() < 0.35:
            words[pick.randrange(count)] = pick.choice(NAMES)
        if count > 9 and pick.random() < 0.6:
            words[pick.randrange(3, count - 3)] += ","
        if count > 14 and pick.random() < 0.12:
            words[pick.randrange(5, count - 5)] += " —"
        if markup and count > 6 and pick.random() < 0.05:
            at = pick.randrange(1, count - 4)
            mark = "**" if pick.random() < 0.2 else "*"
            words[at] = mark + words[at].rstrip(", —") + mark
        text = " ".join(words)
        text = text[:1].upper() + text[1:] + pick.choice(".....?!")
        return f'"{text}"' if pick.random() < 0.12 else text


def _book(corpus: Corpus) -> Book:
    return Book(
        id=1,
        account_id=1,
        title="The Patient Harbour",
        subtitle="A Novel of Copper and Weather",
        author_name="Ingrid Lindqvist",
        genre="Fiction",
        target_audience="",
        description="A captain scuttles her own ship, and in the end the harbour makes her its master.",
        blurb="A captain comes home to a harbour that has forgotten her.",
        style_notes="",
        chapter_count=corpus.chapters,
        target_word_count=corpus.words,
        trim_size="6x9",
        content_language="en-US",
        status=BookStatus.COMPLETED,
        bible={},
        funding_source=None,
        created_at=_WHEN,
        updated_at=_WHEN,
    )


def _chapter(number: int, title: str, content: str) -> Chapter:
    return Chapter(
        id=number,
        book_id=1,
        chapter_number=number,
        title=title,
        summary="",
        content=content,
        word_count=len(content.split()),
        target_word_count=len(content.split()),
        status=ChapterStatus.COMPLETED,
        content_version=1,
        created_at=_WHEN,
        updated_at=_WHEN,
    )
