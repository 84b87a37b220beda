"""What was found, by language and kind, and whether the bars were met."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.authored.rows import Bar
from bench.facts import judge
from bench.facts.plant import PlantedBook
from bench.facts.templates import DETAIL, KINDS, LISTS

MIN_CONTRADICTIONS, MIN_RECALL, WORDS_A_FALSE_ALARM = 2_000, 0.9, 100_000
MIN_LANGUAGES = 12
RULES = tuple(kind for kind in KINDS if kind != DETAIL)


@dataclass
class Count:
    """Contradictions by list, language and kind: planted, and found with all passages quoted."""

    planted: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    judged: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # found by the rules or the simulated judge
    alarms: list[str] = field(default_factory=list)  # findings that quote anything else

    def add(self, book: PlantedBook, rng: random.Random) -> None:
        row = book.told.list, book.told.language, book.told.kind
        findings = book.findings()
        self.judged[row] += any(map(book.is_found, judge.read(book, rng)))
        self.planted[row] += 1
        self.found[row] += any(map(book.is_found, findings))
        self.alarms += [f"{'/'.join(row)}: {each.quote}" for each in findings if not book.is_found(each)]

    def of(self, lists: Iterable[str] = LISTS, languages: Iterable[str] = (), kinds: Iterable[str] = RULES) -> Recall:
        wanted = set(lists), set(languages) or {row[1] for row in self.planted}, set(kinds)
        rows = [row for row in self.planted if all(part in some for part, some in zip(row, wanted, strict=True))]
        return Recall(sum(self.found[row] for row in rows), sum(self.planted[row] for row in rows))

    def with_judge(self, lists: Iterable[str] = LISTS, kinds: Iterable[str] = KINDS) -> Recall:
        """The number found by the rules and the judge together, including details."""
        rows = [row for row in self.planted if row[0] in set(lists) and row[2] in set(kinds)]
        return Recall(sum(self.judged[row] for row in rows), sum(self.planted[row] for row in rows))

    @property
    def languages(self) -> list[str]:
        return list(dict.fromkeys(row[1] for row in self.planted))


@dataclass(frozen=True, slots=True)
class Recall:
    found: int
    of: int

    @property
    def share(self) -> float:
        return self.found / self.of if self.of else 0.0

    def __str__(self) -> str:
        return f"{self.found}/{self.of}"


@dataclass
class Honest:
    """Books without a contradiction: unchanged, or with passages that only look like one."""

    words: int = 0
    facts: int = 0
    look_alikes: int = 0
    alarms: list[str] = field(default_factory=list)


def table(count: Count) -> list[str]:
    """A row per language and per kind, with separate columns for known and unseen templates."""
    head = ["language", *(f"{kind}, {name}" for name in LISTS for kind in ("all rules",)), *RULES]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for language in count.languages:
        lists = [count.of([name], [language]) for name in LISTS]
        kinds = [count.of(languages=[language], kinds=[kind]) for kind in RULES]
        lines.append(f"| {language} | {' | '.join(map(str, [*lists, *kinds]))} |")
    sums = [*(count.of([name]) for name in LISTS), *(count.of(kinds=[kind]) for kind in RULES)]
    return [*lines, f"| all | {' | '.join(map(str, sums))} |"]


def with_the_judge(count: Count) -> list[str]:
    """The number found with a simulated judge, next to that of the rules alone."""
    lines = [
        "| list | rules alone | with the judge | details, rules alone | details, with the judge |",
        "|---" * 5 + "|",
    ]
    for name in LISTS:
        details = count.of([name], kinds=[DETAIL]), count.with_judge([name], [DETAIL])
        lines.append(
            f"| {name} | {count.of([name])} | {count.with_judge([name], RULES)} | {details[0]} | {details[1]} |"
        )
    return lines


def verdicts(count: Count, honest: Honest) -> list[Bar]:
    every, whole, unseen = (
        count.of(),
        count.with_judge(kinds=RULES),
        count.of([name for name in LISTS if name != "known"]),
    )
    last = count.of(LISTS[-1:])
    alarms = len(count.alarms) + len(honest.alarms)
    languages = len(count.languages)
    most = honest.words / WORDS_A_FALSE_ALARM
    return [
        Bar(f"{MIN_CONTRADICTIONS:,} contradictions", f"{every.of:,}", every.of >= MIN_CONTRADICTIONS),
        Bar(f"{MIN_LANGUAGES} languages", str(languages), languages >= MIN_LANGUAGES),
        Bar("half of them unseen", str(unseen.of), unseen.of * 2 >= every.of),
        Bar("90 % found, both passages quoted: rules alone", f"{every.share:.1%}", every.share >= MIN_RECALL),
        Bar("90 % found with the simulated judge", f"{whole.share:.1%}", whole.share >= MIN_RECALL),
        Bar("90 % of the last unseen list found: rules alone", f"{last.share:.1%}", last.share >= MIN_RECALL),
        Bar("at most 1 false alarm in 100,000 words", f"{alarms} in {honest.words:,}", alarms <= most),
    ]
