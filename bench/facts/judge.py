"""The editor's reading of a planted book, by a simulated judge.

Its answers have the form of those recorded in the trial, and go through the service's own parser. It finds 15 of 16
contradictions, the same share as the recorded readings. So this measures how the service handles a judge's answer, not
whether a model finds a contradiction.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from bench.facts.plant import PlantedBook
from bookgen.models import Chapter
from bookgen.writing.material import Material
from bookgen.writing.review.findings import EditorFinding, TextSpan, review_of, with_findings
from bookgen.writing.review.reading import read_claims

FOUND, OF = 15, 16  # bench/trial: planted faults
MAX_QUOTE_WORDS = 25  # the limit in the editor's prompt
_STRAIGHT = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})


def read(book: PlantedBook, rng: random.Random) -> list[EditorFinding]:
    """The findings of a reading: those of the rules and of the judge, joined as the service does."""
    claims = read_claims({"findings": [_answer(book)] if rng.randrange(OF) < FOUND else []})
    review = review_of(claims, Material(book.book, book.chapters))
    return list(with_findings(review, book.findings()).findings)


def _answer(book: PlantedBook) -> dict[str, Any]:
    """The later passage and the earlier one that it contradicts. If the bible was changed, only the passage."""
    earlier, *rest = book.spans
    place = rest[0] if rest else earlier
    others = [_quoted(earlier, book.chapters)] if rest else []
    told = {"kind": "contradiction", "severity": "major", "replacement": "", "remedy": "Change one of them."}
    return {**told, **_quoted(place, book.chapters), "others": others, "why": "They cannot both be true."}


def _quoted(span: TextSpan, chapters: Sequence[Chapter]) -> dict[str, Any]:
    """A passage as models quote it: straight quotation marks, no final full stop, within the word limit."""
    content = next(each.content for each in chapters if each.chapter_number == span.chapter)
    words = content[span.start : span.end].translate(_STRAIGHT).rstrip(".。").split(" ")
    return {"chapter": span.chapter, "quote": " ".join(words[:MAX_QUOTE_WORDS])}
