"""False alarms of the proofreader in correct prose, and how many planted mistakes it finds.

`python -m bench.proofing FOLDER [--half held]`: FOLDER holds checkouts of the European Literary Text Collection (`git
clone https://github.com/COST-ELTeC/ELTeC-deu` and the others of `corpus.FOLDERS`). Rules are developed only with the
development half; the other half is held out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from bench.proofing.adjudicated import is_fault
from bench.proofing.corpus import FOLDERS, Half, Novel, half_of, novels
from bench.proofing.planted import KINDS, Mistake, mends, prepared, spoilt
from bookgen.models import SuggestionType
from bookgen.writing.proofreading import english, rules
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction

ALARMS = (SuggestionType.SPELLING, SuggestionType.GRAMMAR, SuggestionType.PUNCTUATION)
MIN_SHARE = 0.95  # for recall of planted mistakes and for precision
MANY = 20  # planted mistakes of a kind; with fewer, its recall is not judged
UNCERTAIN = {kind.name for kind in KINDS if not kind.certain}


class LanguageRow:
    """The results in one language."""

    def __init__(self) -> None:
        self.words = 0
        self.seconds = 0.0
        self.alarms: Counter[str] = Counter()
        self.faults = 0  # in the original text: correct alarms
        self.planted: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.wrong = 0
        self.novels: list[float] = []  # alarms per ten thousand words, for each novel

    @property
    def rate(self) -> float:
        return self.alarms.total() / self.words * 10_000

    @property
    def false_rate(self) -> float:
        return (self.alarms.total() - self.faults) / self.words * 10_000

    @property
    def recall(self) -> float:
        certain = sum(times for kind, times in self.planted.items() if kind not in UNCERTAIN)
        return sum(times for kind, times in self.found.items() if kind not in UNCERTAIN) / max(certain, 1)

    @property
    def precision(self) -> float:
        return self.found.total() / max(self.found.total() + self.wrong, 1)


def measured(novel: Novel, row: LanguageRow, shown: bool) -> None:
    chance = random.Random(novel.name)
    row.words += novel.words
    started = time.process_time()
    sound = [*_corrections(novel.text), *_checked(novel.text)]
    row.seconds += time.process_time() - started
    for chapter, each in sound:
        if each.reason.type in ALARMS:
            row.alarms[each.reason.source] += 1
            row.faults += is_fault(novel.name, chapter, each)
            if shown:
                _show(novel.name, novel.text.texts[chapter].content, each)
    row.novels.append(sum(each.reason.type in ALARMS for _, each in sound) / novel.words * 10_000)
    book = prepared(novel.text, chance)
    known = Counter((each.original, each.replacement) for _, each in _corrections(book))
    wrong, mistakes = spoilt(book, chance)
    row.planted.update(mistake.kind for mistake in mistakes)
    left = list(mistakes)
    for chapter, each in _corrections(wrong):
        mended = next((mistake for mistake in left if _is_mended(wrong, chapter, each, mistake)), None)
        if mended:
            left.remove(mended)
            row.found[mended.kind] += 1
        elif known[each.original, each.replacement]:
            known[each.original, each.replacement] -= 1
        else:
            row.wrong += 1
            if shown:
                _show(f"{novel.name} planted", wrong.texts[chapter].content, each)
    for mistake in left if shown else ():
        content = wrong.texts[mistake.chapter].content
        passage = content[max(0, mistake.start - 30) : mistake.end + 30]
        print(f"  {novel.name} missed {mistake.kind}: {passage!r} <- {mistake.sound!r}")


def _corrections(book: BookText) -> list[tuple[int, Correction]]:
    return [(chapter, each) for chapter, several in rules.check(book, refrains=False).items() for each in several]


def _checked(book: BookText) -> list[tuple[int, Correction]]:
    """The checker's findings that are accepted."""
    if book.primary != "en":
        return []
    return [(chapter, each) for chapter, each, proven in english.corrections(book, "en-gb") if proven]


def _is_mended(book: BookText, chapter: int, correction: Correction, mistake: Mistake) -> bool:
    return mistake.chapter == chapter and mends(correction, mistake, book.texts[chapter].content)


def _show(name: str, content: str, each: Correction) -> None:
    before, after = content[max(0, each.start - 30) : each.start], content[each.end : each.end + 20]
    print(f"  {name} {each.reason.source}: {before!r} {each.original!r} -> {each.replacement!r} {after!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the proofreader on novels.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", type=Half, default=Half.DEVELOPMENT, choices=list(Half))
    parser.add_argument("--languages", nargs="*", default=sorted(FOLDERS))
    parser.add_argument("--show", action="store_true", help="every alarm and every mistake that was missed")
    given = parser.parse_args()
    rows = {tag: LanguageRow() for tag in given.languages}
    heads = (("words", 9), ("alarms", 7), ("/10,000", 8), ("median", 7), ("false", 6), ("/10,000", 8), ("planted", 8),
             ("recall", 7), ("precision", 10))  # fmt: skip
    print(f"The {given.half} half. The median is that of a language's novels; an alarm is false if it is no fault.")
    print(f"{'':3}", end="")
    print(*(head.rjust(width) for head, width in heads))
    for tag, row in rows.items():
        for novel in novels(given.folder, tag, given.half):
            measured(novel, row, given.show)
        print(
            f"{tag:4}{row.words:9,} {row.alarms.total():7} {row.rate:8.2f} {statistics.median(row.novels):7.2f}"
            f" {row.alarms.total() - row.faults:6} {row.false_rate:8.2f}"
            f" {row.planted.total():8} {row.recall:7.1%}"
            f" {row.precision:10.1%}   {dict(row.alarms)}  {row.seconds / row.words * 100_000:.1f} s/100,000 words",
            flush=True,
        )
    planted, found = Counter[str](), Counter[str]()
    for row in rows.values():
        planted += row.planted
        found += row.found
    wrong = sum(row.wrong for row in rows.values())
    print(f"{planted.total()} planted; precision {found.total() / max(found.total() + wrong, 1):.1%}; found by kind:")
    for kind in planted:
        sure = "" if kind not in UNCERTAIN else "  (its end cannot be determined)"
        share = f"{found[kind]:5} of {planted[kind]:5} {found[kind] / planted[kind]:7.1%}"
        print(f"  {kind:36} {half_of(kind):12} {share}{sure}")
    for half in Half:
        several = [kind for kind in planted if half_of(kind) is half and kind not in UNCERTAIN]
        share = sum(found[kind] for kind in several) / max(sum(planted[kind] for kind in several), 1)
        print(f"  {len(several)} kinds of the {half} half: {share:.1%}")
    missed = [
        tag for tag, row in rows.items() if row.false_rate > 2 or row.recall < MIN_SHARE or row.precision < MIN_SHARE
    ]
    judged = {kind for kind in planted.keys() - UNCERTAIN if planted[kind] >= MANY}
    missed += [kind for kind in judged if found[kind] < MIN_SHARE * planted[kind]]
    print(f"Each kind that was planted {MANY} times or more is judged separately.")
    print(
        f"Missed the bar: {', '.join(missed)}." if missed else "Every language and every such kind is within the bars."
    )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
