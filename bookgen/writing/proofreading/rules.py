"""All deterministic rules for proofreading a book. They report only mistakes that are certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bookgen.writing.proofreading import dashes, doubled, names, quotation, spacing, twice, units_and_ranges
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.structure import ReadingBudget, keeps_structure

MAX_CORRECTIONS = 500  # per chapter; once these are applied, the next report has the rest

_RULES = (
    doubled.corrections,
    spacing.corrections,
    quotation.unclosed,
    quotation.mixed,
    dashes.corrections,
    units_and_ranges.corrections,
    names.corrections,
)


def check(book: BookText, *, refrains: bool) -> dict[int, list[Correction]]:
    """The corrections of each chapter, by its id. Slow: run it in a thread.

    `refrains`: the book may repeat sentences on purpose, so repeated sentences are not reported.
    """
    found: dict[int, list[Correction]] = {chapter_id: [] for chapter_id in book.texts}
    for rule in (*_RULES, *(() if refrains else (twice.corrections,))):
        for chapter_id, correction in rule(book):
            if len(found[chapter_id]) < MAX_CORRECTIONS:
                found[chapter_id].append(correction)
    return _sound(book, found)


def _sound(book: BookText, found: Mapping[int, Iterable[Correction]]) -> dict[int, list[Correction]]:
    return {chapter_id: list(_kept(book.texts[chapter_id].content, each)) for chapter_id, each in found.items()}


def _kept(content: str, corrections: Iterable[Correction]) -> Iterator[Correction]:
    """The corrections that change only words and keep the Markdown structure.

    The check parses text. Once a limit on the parsed text is reached, further corrections are left out.
    """
    budget = ReadingBudget()
    for each in corrections:
        if budget.pays_for(content, each.start, each.end) and keeps_structure(
            content, each.start, each.end, each.replacement
        ):
            yield each
