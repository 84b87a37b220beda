"""Random chapters whose suggestions are applied in any order, with edits in between: does anything else change?

`python -m tests.writing.proofreading.judge 1000000` judges this many chapters. Every character has an identity, so that
a passage found in a different place with the same text is distinguished from one found again.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt

from bookgen.models import Severity, Suggestion, SuggestionStatus, SuggestionType
from bookgen.writing.proofreading.correction import CONTEXT
from bookgen.writing.proofreading.placing import Placement, applied, placed

# Latin, Cyrillic, Greek, Arabic, Han and Kana, Devanagari, combining marks, joined emoji.
PLAIN = (
    *("lamp", "the", "a", "wasser", "straße", "свет", "ночь", "φως", "νύχτα", "نور", "بيت", "光が", "夜", "रात"),
    *("दीया", "é́", "n\u0303o", "ش\u064e", "😀", "👩\u200d👩\u200d👧", "🇺🇦", "—", "“so”", "l’eau"),
)
WORDS = (*PLAIN, "*so*", "**oh**", "`x`", "[a](b)")
MARKDOWN = MarkdownIt("commonmark").enable("table")
BETWEEN = (" ", " ", " ", " ", " ", ", ", "\n", "\n\n", "\n\n- ", "\n\n# ")
MAX_WORDS, MAX_SUGGESTIONS, MAX_STEPS = 40, 8, 5
ENOUGH = 24  # this many equal characters make two passages the same
PARSED = 8  # for one in this many, the Markdown is parsed as a whole before and after


@dataclass(slots=True)
class Case:
    """A chapter with its changes. `names` has a unique number for each of its characters."""

    rng: random.Random
    content: str = ""
    names: list[int] = field(default_factory=list)
    version: int = 1
    named: int = 0
    pending: list[Suggestion] = field(default_factory=list)
    meant: dict[int, list[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def splice(self, start: int, end: int, text: str) -> None:
        self.content = self.content[:start] + text + self.content[end:]
        self.names[start:end] = range(self.named, self.named + len(text))
        self.named += len(text)

    def text(self, most: int) -> str:
        """At most this many words, at least one."""
        words = [self.rng.choice(WORDS) for _ in range(self.rng.randint(1, most))]
        return "".join(f"{self.rng.choice(BETWEEN) if number else ''}{word}" for number, word in enumerate(words))


def made(seed: int) -> Case:
    """A chapter with suggestions, some of which overlap as those of two reports may."""
    case = Case(random.Random(seed))
    case.splice(0, 0, case.text(MAX_WORDS))
    for number in range(1, case.rng.randint(1, MAX_SUGGESTIONS) + 1):
        start, end = _passage(case)
        text = case.rng.choice((*PLAIN, "", case.text(3)))
        case.pending.append(suggestion(number, case.content, start, end, text))
        case.meant[number] = case.names[start:end]
    return case


def _passage(case: Case) -> tuple[int, int]:
    """Usually a word, otherwise the text between two random positions."""
    if case.rng.random() < 0.8:
        return case.rng.choice([match.span() for match in re.finditer(r"\S+", case.content)])
    start = case.rng.randrange(len(case.content))
    return start, min(len(case.content), start + case.rng.randint(1, 14))


def suggestion(number: int, content: str, start: int, end: int, text: str, version: int = 1) -> Suggestion:
    return Suggestion(
        id=number,
        report_id=1,
        chapter_id=1,
        chapter_number=1,
        type=SuggestionType.SPELLING,
        severity=Severity.MINOR,
        original_text=content[start:end],
        suggested_text=text,
        explanation="",
        start_offset=start,
        end_offset=end,
        prefix=content[max(0, start - CONTEXT) : start],
        suffix=content[end : end + CONTEXT],
        content_version=version,
        fingerprint=str(number),
        status=SuggestionStatus.PENDING,
        source="rule",
    )


def judge(seed: int) -> tuple[list[str], Counter[str]]:
    """The faults of a case, and what happened in it."""
    case, happened = made(seed), Counter[str]()
    for _ in range(case.rng.randint(1, MAX_STEPS)):
        if case.rng.random() < 0.4:
            _edit(case)
            happened["edits"] += 1
        happened += _apply(case, parsed=seed % PARSED == 0)
    return case.faults, happened


def _edit(case: Case) -> None:
    """The author types, deletes, or copies a passage to another place."""
    start = case.rng.randint(0, len(case.content))
    end = min(len(case.content), start + case.rng.choice((0, 0, 1, 5, 20)))
    copied = case.rng.randint(0, len(case.content))
    text = case.rng.choice(("", case.text(3), case.content[copied : copied + case.rng.choice((3, 30, 90))]))
    case.splice(start, end, text)
    case.version += 1


def _apply(case: Case, *, parsed: bool) -> Counter[str]:
    before = placed(case.pending, case.content, case.version)
    case.faults += [*_misplaced(case, before), *_lost(case, before.stale)]
    expected = Counter(each.id for each in case.pending)
    case.pending = before.pending
    chosen = {each.id for each in before.pending if case.rng.random() < 0.4}
    after = applied(before, chosen)
    if not set(after.applied) <= chosen:
        case.faults.append("what was not chosen is applied")
    ended = Counter([*after.applied, *after.stale, *(each.id for each in after.pending)])
    if ended != expected:
        case.faults.append("a suggestion is lost or there twice")
    former = case.content
    undone = _splice(case, [each for each in before.pending if each.id in after.applied])
    if after.content.encode() != case.content.encode():
        case.faults.append("a byte outside of what was shown is changed")
    if _restored(after.content, undone).encode() != former.encode():
        case.faults.append("the inverse does not restore the chapter")
    if parsed and _shape(former) != _shape(after.content):
        case.faults.append("the Markdown has another structure")
    case.faults += _misplaced(case, after)
    case.version += after.content != former
    case.pending = [_of_version(each, case.version) for each in after.pending]
    return Counter(applied=len(after.applied), stale=len(after.stale), pending=len(after.pending))


def _splice(case: Case, done: Sequence[Suggestion]) -> list[tuple[int, int, str]]:
    """Repeat what was applied on the case's own text. Returns what undoes it, in reverse order."""
    undone, shift = [], 0
    for each in sorted(done, key=lambda suggestion: suggestion.start_offset):
        start, text = each.start_offset + shift, each.suggested_text
        case.splice(start, each.end_offset + shift, text)
        undone.append((start, start + len(text), each.original_text))
        shift += len(text) - len(each.original_text)
    return undone[::-1]


def _restored(content: str, undone: Sequence[tuple[int, int, str]]) -> str:
    for start, end, text in undone:
        content = content[:start] + text + content[end:]
    return content


def _misplaced(case: Case, placement: Placement) -> Iterator[str]:
    """Faults in the positions of the suggestions."""
    former = {each.id: each for each in case.pending}
    for each in placement.pending:
        start, end = each.start_offset, each.end_offset
        around = case.content[max(0, start - CONTEXT) : start], case.content[end : end + CONTEXT]
        if (each.prefix, each.suffix) != around:
            yield "what stands around a passage is wrong"
        if case.content[start:end] != each.original_text:
            yield "an offset is wrong"
        elif case.names[start:end] != case.meant[each.id]:
            yield from _taken(case, former[each.id], start)
            case.meant[each.id] = case.names[start:end]


def _taken(case: Case, former: Suggestion, place: int) -> Iterator[str]:
    """Faults in using the passage at `place` for a suggestion. None if it is one of several equal passages."""
    whole = former.prefix + former.original_text + former.suffix
    alike = _likeness(case.content, former, place)
    if alike < ENOUGH and case.content != whole:
        yield "a passage is taken for another"
    others = [each for each in _occurrences(case.content, former.original_text) if each != place]
    if others and alike < len(whole):
        yield "a passage that stands twice is not told apart by both of its sides"
    if place != former.start_offset and any(_likeness(case.content, former, each) >= alike for each in others):
        yield "one of two passages alike is guessed"


def _lost(case: Case, stale: Collection[int]) -> Iterator[str]:
    """Suggestions not found although nothing around them has changed and no other passage is equal."""
    for each in case.pending:
        whole = each.prefix + each.original_text + each.suffix
        if each.id in stale and len(whole) >= ENOUGH and _count(case.content, whole) == 1:
            first = case.content.find(whole) + len(each.prefix)
            if case.names[first : first + len(each.original_text)] == case.meant[each.id]:
                yield "a passage is lost"


def _likeness(content: str, former: Suggestion, place: int) -> int:
    """How many characters at and around the passage are the same as before."""
    end = place + len(former.original_text)
    before = _same(reversed(content[:place]), reversed(former.prefix))
    return before + end - place + _same(content[end:], former.suffix)


def _same(one: Iterable[str], other: Iterable[str]) -> int:
    """The length of the common prefix."""
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in alike)


def _count(content: str, text: str) -> int:
    return len(list(_occurrences(content, text)))


def _occurrences(content: str, text: str) -> Iterator[int]:
    place = content.find(text)
    while place >= 0:
        yield place
        place = content.find(text, place + 1)


def _of_version(each: Suggestion, version: int) -> Suggestion:
    return replace(each, content_version=version)


def _shape(content: str) -> list[tuple[str, str]]:
    """The blocks and the inline elements within them."""
    tokens = MARKDOWN.parse(content)
    within = (child for token in tokens for child in token.children or ())
    return [(token.type, token.tag) for token in (*tokens, *within) if token.type != "text"]


def judged(seeds: range) -> tuple[Counter[str], Counter[str]]:
    """Faults and events of the cases with these seeds."""
    faults, happened = Counter[str](), Counter[str]()
    for seed in seeds:
        found, of_case = judge(seed)
        faults.update(f"{fault} in case {seed}" for fault in found)
        happened += of_case
    return faults, happened


def main() -> int:
    parser = argparse.ArgumentParser(description="Judges how suggestions are placed and applied.")
    parser.add_argument("cases", type=int)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    started = time.monotonic()
    share = 1_000
    parts = [range(first, min(first + share, given.cases)) for first in range(0, given.cases, share)]
    faults, happened = Counter[str](), Counter[str]()
    with multiprocessing.Pool(given.workers) as pool:
        for found, of_part in pool.imap_unordered(judged, parts):
            faults += found
            happened += of_part
    seconds = time.monotonic() - started
    print(f"{given.cases:,} chapters in {seconds:.0f} s: {dict(happened)}; {faults.total()} faults {dict(faults)}")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
