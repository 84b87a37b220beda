"""The results of the bench for a book, and the lines that it prints about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bench.authored.compare import Difference

SHORT, LONG = 0.75, 1.25  # of its budget: a chapter outside must have a finding about its length
WORDS_A_REPAIR = 20_000
SHOWN_WORDS = 14
HEADINGS = ("book", "words", "lengths", "lost", "changed", "lines", "repairs", "calls a chapter", "findings", "other")


@dataclass(frozen=True)
class ChapterResult:
    """`unrecorded`: lost sentences that no revision of the chapter has."""

    number: int
    words: int
    budget: int
    difference: Difference
    unrecorded: tuple[str, ...] = ()
    repairs: int = 0
    has_length_finding: bool = False

    @property
    def is_near_its_budget(self) -> bool:
        return SHORT * self.budget <= self.words <= LONG * self.budget


@dataclass(frozen=True)
class BookResult:
    name: str
    words: int
    chapters: tuple[ChapterResult, ...] = ()
    findings: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    failure: str = ""

    @property
    def lost(self) -> int:
        return sum(len(chapter.unrecorded) for chapter in self.chapters)

    @property
    def changed(self) -> int:
        """Words changed in chapters without a revision that has the reply."""
        return sum(chapter.difference.words for chapter in self.chapters if not chapter.repairs)

    @property
    def lines(self) -> int:
        return sum(chapter.difference.lines for chapter in self.chapters if not chapter.repairs)

    @property
    def repairs(self) -> int:
        """The number of places that code changed, recorded or not."""
        return sum(chapter.difference.changes for chapter in self.chapters)

    @property
    def unsaid(self) -> int:
        """The number of chapters far from their budget without a finding that says so."""
        return sum(not (each.is_near_its_budget or each.has_length_finding) for each in self.chapters)


def row(book: BookResult) -> str:
    if book.failure:
        return f"| {book.name} | {book.words} | {book.failure} |" + " |" * (len(HEADINGS) - 3)
    near = sum(chapter.is_near_its_budget for chapter in book.chapters)
    planned = {"outline", "chapter", "note"}
    writing = sum(book.calls.values()) - book.calls["outline"]
    other = Counter({name: count for name, count in book.calls.items() if name not in planned})
    cells = (
        book.name,
        book.words,
        f"{near}/{len(book.chapters)}",
        book.lost,
        book.changed,
        book.lines,
        book.repairs,
        f"{writing / max(len(book.chapters), 1):.1f}",
        counted(book.findings),
        counted(other),
    )
    return f"| {' | '.join(map(str, cells))} |"


def counted(things: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(things.items())) or "-"


def details(book: BookResult, most: int) -> list[str]:
    """The lost and added sentences of the book, at most `most` of each kind per chapter."""
    lines = []
    for chapter in book.chapters:
        for said, told in (("lost", chapter.difference.lost), ("added", chapter.difference.added)):
            lines += [f"{book.name} {chapter.number}: {said}: {_short(sentence)}" for sentence in told[:most]]
            if len(told) > most:
                lines.append(f"{book.name} {chapter.number}: {said}: and {len(told) - most} more")
    return lines


def _short(sentence: str) -> str:
    words = sentence.split()
    return " ".join(words) if len(words) <= SHOWN_WORDS else f"{' '.join(words[:SHOWN_WORDS])} …"


@dataclass(frozen=True)
class Bar:
    bar: str
    measured: str
    is_kept: bool

    def __str__(self) -> str:
        return f"| {self.bar} | {self.measured} | {'kept' if self.is_kept else 'MISSED'} |"


def verdicts(books: list[BookResult]) -> list[Bar]:
    words = sum(book.words for book in books)
    failed = [book.name for book in books if book.failure]
    lost, changed, lines = (sum(getattr(book, name) for book in books) for name in ("lost", "changed", "lines"))
    repairs, unsaid = sum(book.repairs for book in books), sum(book.unsaid for book in books)
    allowed = words / WORDS_A_REPAIR
    return [
        Bar("every book is written", f"{len(books) - len(failed)} of {len(books)}", not failed),
        Bar("0 sentences lost without a record", str(lost), not lost),
        Bar("0 words changed without a record", str(changed), not changed),
        Bar("0 lines changed without a record", str(lines), not lines),
        Bar("at most 1 repair in 20,000 words", f"{repairs} in {words:,}", repairs <= allowed),
        Bar("a finding for each chapter outside 75-125 %", f"{unsaid} without", not unsaid),
    ]
