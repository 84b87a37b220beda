"""Every deterministic rule over a book: what they agree on is right wherever it is seen, or it is not said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from bookgen.writing.proofreading import doubled, names, quotation, spacing, twice
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.structure import keeps_structure

HABIT = 3  # times: what the author sets so often is meant
BY_HABIT = "spacing"


def check(book: BookText, *, refrains: bool) -> dict[int, list[Correction]]:
    """The corrections of each chapter, by its id. With `refrains` sentences may stand twice. Slow: off the loop."""
    found: defaultdict[int, list[Correction]] = defaultdict(list)
    for chapter_id, text in book.texts.items():
        for rule in (spacing.corrections, doubled.corrections, quotation.unclosed):
            found[chapter_id] += rule(text)
    for over_book in (quotation.mixed, names.corrections, *(() if refrains else (twice.corrections,))):
        for chapter_id, correction in over_book(book):
            found[chapter_id].append(correction)
    return _sound(book, found)


def _sound(book: BookText, found: Mapping[int, Iterable[Correction]]) -> dict[int, list[Correction]]:
    times = Counter(each.original for corrections in found.values() for each in corrections)
    return {
        chapter_id: [
            each
            for each in corrections
            if (each.source != BY_HABIT or times[each.original] < HABIT)
            and keeps_structure(book.texts[chapter_id].content, each.start, each.end, each.replacement)
        ]
        for chapter_id, corrections in found.items()
    }
