"""Does a revision make books worse? Simulated faults and edits, judged by the service's own rules.

In a production the model answers an editor's findings once: it edits or declines each, and an edit is kept if the free
checks of `writing/review/applying.py` allow it. With BOOKGEN_REVISION=compare it is kept only if two blind comparisons
prefer it (`writing/review/comparison.py`). That code decides here too, about edits of real text. Simulated are the
model's decision about a finding, right in 73 %; what an edit is worth, +1 for a fault mended and -1 for a passage made
worse; and the judge, who is right about each change in 73 %, independently in each order. A biased judge names the text
that comes first in one of five cases, whatever it is.

    python -m bench.revision [--books 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bookgen.models import Book, Chapter, Severity, Usage
from bookgen.providers.text import StopReason, TextReply, TextRequest
from bookgen.writing import estimate
from bookgen.writing.material import Material
from bookgen.writing.review import applying
from bookgen.writing.review.applying import RevisedBook
from bookgen.writing.review.calls import compare_book
from bookgen.writing.review.changes import ComparedChange, Replacement, compared_parts
from bookgen.writing.review.comparison import max_changes
from bookgen.writing.review.findings import BookReview, EditorFinding, TextSpan
from bookgen.writing.review.kinds import FindingKind
from bookgen.writing.review.reading import reading_requests
from bookgen.writing.review.revision import BookRevision, PassageEdit, revision_requests
from tests.writing.scripted import a_book, a_chapter, prose, sentence

JUDGE = 0.73  # how often the model is right about a finding, and a judge about two texts
BIAS = 0.2  # how often a biased judge names the first text
CLUMSY = 0.3  # of edits make their passage worse, whatever the finding
VISIBLE = 0.5  # of clumsy edits have a fault that a free check may see
TWO_EDITS = 0.2  # of answers take two edits
FINDINGS, WORDS, DRAFTS = 6, 400, 3
RIGHT = (0.2, 0.35, 0.5, 0.65, 0.8)  # of an editor's findings
MAX_CALLS = 1.5  # times a draft's

ENGLISH_TALK = "Let me know if you would like any changes to this chapter!"
GERMAN = "Der Wind trug den Geruch von nassem Holz über den Hof, und niemand wollte als Erster wieder hineingehen."


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model would send for one finding: its edits, whether they mend it, and whether it would decline."""

    edits: tuple[PassageEdit, ...]
    mends: bool
    is_declined: bool


@dataclass(frozen=True, slots=True)
class SimulatedBook:
    material: Material
    findings: tuple[EditorFinding, ...]
    answers: tuple[ModelAnswer, ...]


def simulated(rng: Random, right: float) -> SimulatedBook:
    """A book of one chapter with an editor's findings, of which a share `right` is right, and all answers to them."""
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
    """An edit of one sentence. A clumsy one may have a fault of form; else only a reader would see that it is worse."""
    other = sentence(rng.randrange(10**7, 10**8))
    if not clumsy or rng.random() >= VISIBLE:
        return PassageEdit(number, 1, passage, other)
    replacements = (
        "",  # the sentence is cut
        GERMAN,
        f"{other} {ENGLISH_TALK}",
        f"{other} {prose(150, rng.randrange(10**7, 10**8)).replace(chr(10) * 2, ' ')}",
        other.rstrip(".") + " ,.",
        f"{other}\n\n{other}",
    )
    return PassageEdit(number, 1, passage, rng.choice(replacements))


class SimulatedJudge:
    """Steps that answer comparisons: right about a change in JUDGE, or for the first text in a share `bias`."""

    def __init__(self, book: SimulatedBook, rng: Random, bias: float) -> None:
        self._book, self._rng, self._bias = book, rng, bias
        self.calls = 0

    async def reply(self, request: TextRequest, *, attempt: int = 0) -> TextReply:
        self.calls += 1
        verdicts = [
            {"number": int(number), "why": "", "better": self._better(self._book.answers[int(number) - 1], first)}
            for number, first in _PAIR.findall(request.texts[-1])
        ]
        text = json.dumps({"verdicts": verdicts})
        return TextReply(text, StopReason.END, Usage(calls=1, input_tokens=1, output_tokens=1), "judge")

    def _better(self, answer: ModelAnswer, first: str) -> str:
        if self._rng.random() < self._bias:
            return "A"
        draft_is_a = any(edit.passage.strip() == first for edit in answer.edits)
        prefers_revised = (self._rng.random() < JUDGE) is answer.mends
        return "A" if draft_is_a is not prefers_revised else "B"

    async def has(self, request: TextRequest) -> bool:
        return False

    def for_concurrent_calls(self) -> SimulatedJudge:
        return self


_PAIR = re.compile(r"^Number (\d+)\nA:\n⟦[\d.]+⟧ (.*)$", re.MULTILINE)


async def revised_by(book: SimulatedBook) -> RevisedBook:
    """The book with the answers that the model gives and the free checks allow, by the service's own code."""
    revision = BookRevision(tuple(edit for each in book.answers if not each.is_declined for edit in each.edits), {})
    return await applying.apply(book.material, book.findings, revision)


def gain_of(book: SimulatedBook, revised: RevisedBook) -> int:
    """What the book gains by a revision."""
    kept = {outcome.edit.finding for outcome in revised.outcomes if outcome.is_kept}
    return sum(1 if each.mends else -1 for number, each in enumerate(book.answers, 1) if number in kept)


async def compared(book: SimulatedBook, revised: RevisedBook, rng: Random, bias: float = 0.0) -> int:
    """What it gains by the changes that two comparisons prefer, by the service's own code."""
    judge = SimulatedJudge(book, rng, bias)
    results = await compare_book(book.material, BookReview(book.findings, {}), revised, judge)
    rejected = {number for number, each in results.items() if not each.is_kept}
    return gain_of(book, await applying.without(book.material, book.findings, revised, rejected))


def compared_whole(gain: int, rng: Random) -> int:
    """What it gains if the revision is kept or rejected as a whole, by two comparisons of all of it."""
    right = JUDGE if gain else 0.5
    return gain if all((rng.random() < right) is (gain >= 0) for _ in range(2)) else 0


def always(book: SimulatedBook) -> int:
    """What it gains if every finding is answered and every edit is made."""
    return sum(1 if each.mends else -1 for each in book.answers)


def best_of(rng: Random, drafts: int, right: float) -> float:
    """What the best of several drafts gains over the first, as a judge who is right in 73 % picks it pair by pair."""
    faults = [sum(rng.random() < right for _ in range(FINDINGS)) for _ in range(drafts)]
    best = faults[0]
    for other in faults[1:]:
        better, worse = min(best, other), max(best, other)
        best = better if rng.random() < JUDGE else worse
    return faults[0] - best


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better books have become, in faults: the mean, twice its standard error, and the share made worse."""

    mean: float
    error: float
    worse: float

    @classmethod
    def of(cls, gains: Sequence[float]) -> Gain:
        error = 2 * statistics.stdev(gains) / math.sqrt(len(gains))
        return cls(statistics.mean(gains), error, sum(gain < 0 for gain in gains) / len(gains))

    @property
    def is_loss(self) -> bool:
        """Whether the books have become worse by more than chance explains."""
        return self.mean + self.error < 0

    def __str__(self) -> str:
        return f"{self.mean:+6.2f} ± {self.error:.2f}, {self.worse:4.0%} worse"


def calls(*, comparing: bool = False) -> float:
    """The calls of a book with its editor's reading and revision over those without: ten chapters of 2,000 words.

    `comparing`: a finding in each chapter is answered, and the changes are compared.
    """
    book = a_book(bible={"premise": "A lamp."}, genre="Novel", chapter_count=10, target_word_count=20_000)
    chapters = tuple(a_chapter(number, words=2_000, content=prose(2_000, number * 10_000)) for number in range(1, 11))
    material = Material(book, chapters)
    drafted = _calls_of_draft(book, chapters)
    places = [TextSpan(each.chapter_number, 0, next(_sentences(each.content)).end) for each in chapters]
    review = BookReview(tuple(_finding(chapters[place.chapter - 1].content, place) for place in places), {})
    more = len(reading_requests(material)) + len(revision_requests(material, review))
    if comparing:
        changes = [
            ComparedChange(number, (Replacement(each.place, each.quote, each.quote),), each.places)
            for number, each in enumerate(review.findings, 1)
        ]
        more += 2 * len(compared_parts(material, changes, max_changes(book)))
    return (drafted + more) / drafted


def _calls_of_draft(book: Book, chapters: Sequence[Chapter]) -> int:
    return estimate.estimate(estimate.Basis.of(book, chapters), "offline", lambda *_: 0).calls


async def gains(right: float, count: int) -> dict[str, Gain]:
    """The gain by each rule, all of them of the same books."""
    rng, judge = Random(f"{right}"), Random(f"judge {right}")
    found: dict[str, list[float]] = {rule: [] for rule in RULES}
    for _ in range(count):
        book = simulated(rng, right)
        revised = await revised_by(book)
        found["apply"].append(gain_of(book, revised))
        found["compare"].append(await compared(book, revised, judge))
        found["biased"].append(await compared(book, revised, judge, BIAS))
        found["whole"].append(compared_whole(gain_of(book, revised), judge))
        found["always"].append(always(book))
        found["best"].append(best_of(rng, DRAFTS, right))
    return {rule: Gain.of(each) for rule, each in found.items()}


# The rules, and how the table names them. The bar is for those with comparisons by the service's own code.
RULES = {
    "apply": "without comparisons",
    "compare": "with comparisons",
    "biased": "by a biased judge",
    "whole": "compared as a whole",
    "always": "every edit",
    "best": f"best of {DRAFTS}",
}
JUDGED = ("compare", "biased")


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=int, default=10_000, help="in all, divided over the rows")
    count = parser.parse_args().books // len(RIGHT)
    factor, judged_factor = calls(), calls(comparing=True)
    print(f"Gain over the draft in faults: mean of {count} books, 2 sigma, books made worse.")
    print(f"findings right  {'  '.join(f'{name:25}' for name in RULES.values())}")
    lost: dict[str, list[str]] = {rule: [] for rule in RULES}
    for right in RIGHT:
        found = await gains(right, count)
        print(f"{right:14.0%}  {'  '.join(f'{gain!s:25}' for gain in found.values())}", flush=True)
        for rule, gain in found.items():
            lost[rule] += [f"{right:.0%}"] if gain.is_loss else []
    for rule, rates in lost.items():
        if rates:
            print(f"Below the draft, {RULES[rule]}, where so few of the findings are right: {', '.join(rates)}.")
    print(
        f"Calls: {factor:.2f} times a draft's, with comparisons {judged_factor:.2f} (bar {MAX_CALLS}); best of", end=" "
    )
    print(f"{DRAFTS}: {DRAFTS}.")
    return bool(any(lost[rule] for rule in JUDGED) or judged_factor > MAX_CALLS)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
