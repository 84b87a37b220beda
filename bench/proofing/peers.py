"""Alarms of other checkers in the same English novels: `python -m bench.proofing.peers FOLDER`.

Harper is one of our dependencies. LingoTweaker is not: `pip install lingotweaker lingotweaker-data-en` into a folder on
the PYTHONPATH. Without it, its rows are left out. Both run with default settings and the dialect set, on the held-out
half.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harper import Dialect, Linter

from bench.proofing.corpus import Half, novels
from bookgen.words import count_words
from bookgen.writing.proofreading import english, rules
from bookgen.writing.proofreading.book import BookText, ChapterText

WORDS = 2_500  # of each novel
# The categories of each checker for spelling, grammar and punctuation, to which the bar applies. The rest is style.
HARPER = frozenset({"Spelling", "Typo", "Grammar", "Agreement", "Punctuation", "Formatting", "Capitalization",
                    "BoundaryError", "Repetition", "Usage", "WordChoice", "Eggcorn", "Malapropism"})  # fmt: skip
LINGO_TWEAKER = frozenset({"misspelling", "grammar", "typographical", "whitespace", "duplication", "uncategorized"})

Kinds = Iterator[str]


def ours(book: BookText) -> Kinds:
    for found in rules.check(book, refrains=False).values():
        yield from (each.reason.type for each in found)
    yield from (each.reason.type for _, each, proven in english.corrections(book, "en-gb") if proven)


def harper(book: BookText) -> Kinds:
    linter = Linter(Dialect.BRITISH)
    for text in book.texts.values():
        yield from (str(lint.lint_kind) for lint in linter.lint(text.content))


def lingo_tweaker(engine: object) -> Callable[[BookText], Kinds]:
    def checked(book: BookText) -> Kinds:
        for text in book.texts.values():
            yield from (str(match["issue_type"]) for match in engine.check(text.content))  # type: ignore[attr-defined]

    return checked


def sample(book: BookText) -> BookText:
    """The first chapters of a novel. The last one is cut at a paragraph."""
    left, texts = WORDS, {}
    for number, text in book.texts.items():
        kept = []
        for paragraph in text.content.split("\n\n"):
            if left > 0:
                kept.append(paragraph)
                left -= count_words(paragraph)
        if kept:
            texts[number] = ChapterText("\n\n".join(kept), book.primary)
    return BookText(texts, book.primary, book.names)


def row(name: str, books: Sequence[BookText], check: Callable[[BookText], Kinds], kinds: frozenset[str]) -> None:
    words = sum(count_words(text.content) for book in books for text in book.texts.values())
    found = Counter(kind for book in books for kind in check(book))
    counted = sum(times for kind, times in found.items() if kind in kinds)
    common = ", ".join(f"{times} {kind}" for kind, times in found.most_common(6))
    print(f"{name:13} {words:7,} {counted / words * 10_000:8.1f} {found.total() / words * 10_000:8.1f}   {common}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts what other checkers raise in sound English prose.")
    parser.add_argument("folder", type=Path)
    books = [sample(novel.text) for novel in novels(parser.parse_args().folder, "en", Half.HELD)]
    print("Alarms in 10,000 words: of spelling, grammar and punctuation, and of all kinds.")
    row("bookgen", books, ours, frozenset({"spelling", "grammar", "punctuation"}))
    row("Harper", books, harper, HARPER)
    if importlib.util.find_spec("lt_py"):
        engine = importlib.import_module("lt_py").Engine("en-GB")
        row("LingoTweaker", books, lingo_tweaker(engine), LINGO_TWEAKER)


if __name__ == "__main__":
    main()
