"""Does the revision make books worse? Simulated faults and edits, judged by the service's own rule.

The service has no judge that compares two texts. In a production the model answers an editor's findings once: it edits
or declines each, and an edit is kept if the free checks of `writing/review/bounds.py` allow it. The same code decides
here, about edits of real text. Two things are simulated: the model's decision about a finding, which is right in 73 %
of cases, and the value of an edit: +1 for a corrected fault, -1 for a passage made worse.

    python -m bench.revision [--books 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bookgen.models import Book, Chapter, Severity
from bookgen.writing import estimate
from bookgen.writing.material import Material
from bookgen.writing.review import bounds
from bookgen.writing.review.findings import BookReview, EditorFinding, TextSpan
from bookgen.writing.review.kinds import FindingKind
from bookgen.writing.review.reading import reading_requests
from bookgen.writing.review.revision import BookRevision, PassageEdit, revision_requests
from tests.writing.scripted import a_book, a_chapter, prose, sentence

JUDGE = 0.73  # how often the model is right about a finding
CLUMSY = 0.3  # of edits make their passage worse, even if the finding is right
VISIBLE = 0.5  # of clumsy edits have a fault that a free check may find
TWO_EDITS = 0.2  # of answers need two edits
FINDINGS, WORDS, DRAFTS = 6, 400, 3
RIGHT = (0.2, 0.35, 0.5, 0.65, 0.8)  # share of an editor's findings that are right
MAX_CALLS = 1.5  # divided by those of a draft

ENGLISH_TALK = "Let me know if you would like any changes to this chapter!"
GERMAN = "Der Wind trug den Geruch von nassem Holz über den Hof, und niemand wollte als Erster wieder hineingehen."


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer to one finding: its edits, whether they correct the fault, and whether it would decline."""

    edits: tuple[PassageEdit, ...]
    mends: bool
    is_declined: bool


@dataclass(frozen=True, slots=True)
class SimulatedBook:
    material: Material
    findings: tuple[EditorFinding, ...]
    answers: tuple[ModelAnswer, ...]


def simulated(rng: Random, right: float) -> SimulatedBook:
    """A book of one chapter with an editor's findings, a share `right` of which are right, and all answers to them."""
    content = prose(WORDS, rng.randrange(10**6))
    chapter = a_chapter(1, words=WORDS, content=content)
    places = list(_sentences(content))
    picked = rng.sample(places, FINDINGS * 2)
    findings, answers = [], []
    for number, (first, second) in enumerate(zip(picked[::2], picked[1::2], strict=True), 1):
        is_right = rng.random() < right
        findings.append(
            EditorFinding(FindingKind.UNCLEAR, Severity.MAJOR, first, _at(content, first), (), "", "", None)
        )
        spans = (first, second) if rng.random() < TWO_EDITS else (first,)
        clumsy = rng.random() < CLUMSY
        edits = tuple(_edit(rng, number, _at(content, span), clumsy) for span in spans)
        answers.append(ModelAnswer(edits, is_right and not clumsy, (rng.random() < JUDGE) != is_right))
    book = a_book(bible={}, genre="Novel", chapter_count=1, target_word_count=WORDS)
    return SimulatedBook(Material(book, (chapter,)), tuple(findings), tuple(answers))


def _finding(content: str, place: TextSpan) -> EditorFinding:
    return EditorFinding(FindingKind.UNCLEAR, Severity.MAJOR, place, _at(content, place), (), "", "", None)


def _sentences(content: str) -> Iterator[TextSpan]:
    start = 0
    for paragraph in content.split("\n\n"):
        for text in paragraph.replace(". ", ".\0").split("\0"):
            yield TextSpan(1, start, start + len(text))
            start += len(text) + 1
        start += 1


def _at(content: str, span: TextSpan) -> str:
    return content[span.start : span.end]


def _edit(rng: Random, number: int, passage: str, clumsy: bool) -> PassageEdit:
    """An edit of one sentence. A clumsy edit may have a formal fault; otherwise only a reader would notice it."""
    other = sentence(rng.randrange(10**7, 10**8))
    if not clumsy or rng.random() >= VISIBLE:
        return PassageEdit(number, 1, passage, other)
    replacements = (
        "",  # the sentence is deleted
        GERMAN,
        f"{other} {ENGLISH_TALK}",
        f"{other} {prose(150, rng.randrange(10**7, 10**8)).replace(chr(10) * 2, ' ')}",
        other.rstrip(".") + " ,.",
        f"{other}\n\n{other}",
    )
    return PassageEdit(number, 1, passage, rng.choice(replacements))


async def as_the_service_does(book: SimulatedBook) -> int:
    """The gain from the answers that the model gives and the service's own code keeps."""
    revision = BookRevision(tuple(edit for each in book.answers if not each.is_declined for edit in each.edits), {})
    revised = await bounds.apply(book.material, book.findings, revision)
    kept = {outcome.edit.finding for outcome in revised.outcomes if outcome.is_kept}
    return sum(1 if each.mends else -1 for number, each in enumerate(book.answers, 1) if number in kept)


def unchecked(book: SimulatedBook) -> int:
    """The gain if the model may decline, and every edit is applied."""
    return sum(1 if each.mends else -1 for each in book.answers if not each.is_declined)


def always(book: SimulatedBook) -> int:
    """The gain if the model never declines, and every edit is applied."""
    return sum(1 if each.mends else -1 for each in book.answers)


def best_of(rng: Random, drafts: int, right: float) -> float:
    """The gain of the best of several drafts over the first, chosen by a judge who is right in 73 %."""
    faults = [sum(rng.random() < right for _ in range(FINDINGS)) for _ in range(drafts)]
    best = faults[0]
    for other in faults[1:]:
        better, worse = min(best, other), max(best, other)
        best = better if rng.random() < JUDGE else worse
    return faults[0] - best


@dataclass(frozen=True, slots=True)
class Gain:
    """The improvement of books in faults: the mean, twice its standard error, and the share of books made worse."""

    mean: float
    error: float
    worse: float

    @classmethod
    def of(cls, gains: Sequence[float]) -> Gain:
        error = 2 * statistics.stdev(gains) / math.sqrt(len(gains))
        return cls(statistics.mean(gains), error, sum(gain < 0 for gain in gains) / len(gains))

    @property
    def is_loss(self) -> bool:
        """Whether the books became significantly worse."""
        return self.mean + self.error < 0

    def __str__(self) -> str:
        return f"{self.mean:+6.2f} ± {self.error:.2f}, {self.worse:4.0%} worse"


def calls() -> float:
    """Calls of a book (ten chapters of 2,000 words) with editor's reading and revision, divided by those without."""
    book = a_book(bible={"premise": "A lamp."}, genre="Novel", chapter_count=10, target_word_count=20_000)
    chapters = tuple(a_chapter(number, words=2_000, content=prose(2_000, number * 10_000)) for number in range(1, 11))
    material = Material(book, chapters)
    drafted = _calls_of_draft(book, chapters)
    review = BookReview((_finding(chapters[0].content, TextSpan(1, 0, 10)),), {})
    more = len(reading_requests(material)) + len(revision_requests(material, review))
    return (drafted + more) / drafted


def _calls_of_draft(book: Book, chapters: Sequence[Chapter]) -> int:
    return estimate.estimate(estimate.Basis.of(book, chapters), "offline", lambda *_: 0).calls


async def gains(right: float, count: int) -> dict[str, Gain]:
    """The gain for each rule, for the same books."""
    rng = Random(f"{right}")
    found: dict[str, list[float]] = {"service": [], "unchecked": [], "always": [], "best": []}
    for _ in range(count):
        book = simulated(rng, right)
        found["service"].append(await as_the_service_does(book))
        found["unchecked"].append(unchecked(book))
        found["always"].append(always(book))
        found["best"].append(best_of(rng, DRAFTS, right))
    return {rule: Gain.of(each) for rule, each in found.items()}


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=int, default=10_000, help="total, divided among the rows")
    count = parser.parse_args().books // len(RIGHT)
    factor = calls()
    print(f"Gain over the draft in faults: mean of {count} books, 2 sigma, books made worse. The service has no judge.")
    print(f"findings right  {'the service':27} {'its edits unchecked':27} {'every edit':27} best of {DRAFTS}")
    lost = []
    for right in RIGHT:
        found = await gains(right, count)
        print(f"{right:14.0%}  {'  '.join(f'{gain!s:26}' for gain in found.values())}")
        lost += [f"{right:.0%}"] if found["service"].is_loss else []
    if lost:
        print(f"Worse than the draft at these shares of right findings: {', '.join(lost)}.")
    print(f"Calls: {factor:.2f} times a draft's (bar {MAX_CALLS}); best of {DRAFTS}: {DRAFTS}.")
    return bool(lost or factor > MAX_CALLS)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
