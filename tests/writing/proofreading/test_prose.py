"""In novels of twelve languages the proofreader reports nothing, and finds every planted mistake.

Five hundred words of each are here; `make proofing` reads two million.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.proofing.corpus import book_of
from bench.proofing.planted import KINDS, Mistake, mends, prepared, spoilt
from bookgen.writing.proofreading import rules
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction

PROSE = Path(__file__).with_name("prose")
CERTAIN = {kind.name for kind in KINDS if kind.certain}


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    for chapter, found in rules.check(book, refrains=False).items():
        for each in found:
            yield chapter, each


@pytest.mark.parametrize("file", sorted(PROSE.glob("??.md")), ids=lambda file: file.stem)
def test_sound_prose_raises_no_alarm_and_planted_mistakes_are_corrected(file: Path) -> None:
    book = prepared(book_of([file.read_text("utf-8")], file.stem), random.Random(file.stem))
    assert list(corrections(book)) == []

    wrong, mistakes = spoilt(book, random.Random(file.stem))
    found = list(corrections(wrong))
    content = wrong.texts[1].content

    assert len(mistakes) >= 6
    assert not [each for each in mistakes if each.kind in CERTAIN and not mended(each, found, content)]
    assert not [each for _, each in found if not any(mends(each, mistake, content) for mistake in mistakes)]


def mended(mistake: Mistake, found: list[tuple[int, Correction]], content: str) -> bool:
    return any(mends(each, mistake, content) for _, each in found)
