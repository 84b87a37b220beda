"""The editor's reading of a planted book, with a judge that is played.

Its answers have the form of those that were recorded in the trial, and go through the service's own reader. It finds
as often as the recorded readings found the faults that were planted there: 15 of 16 times. So this measures what the
service makes of a judge's answer, not whether a model finds a contradiction.
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
MAX_QUOTE_WORDS = 25  # as the editor is asked for
_STRAIGHT = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})


def read(book: PlantedBook, rng: random.Random) -> list[EditorFinding]:
    """What a reading reports of the book: the rules' findings and those of the judge, as the service joins them."""
    claims = read_claims({"findings": [_answer(book)] if rng.randrange(OF) < FOUND else []})
    review = review_of(claims, Material(book.book, book.chapters))
    return list(with_findings(review, book.findings()).findings)


def _answer(book: PlantedBook) -> dict[str, Any]:
    """The later passage, and the earlier one that it contradicts; of a changed bible the passage alone."""
    earlier, *rest = book.spans
    place = rest[0] if rest else earlier
    others = [_quoted(earlier, book.chapters)] if rest else []
    told = {"kind": "contradiction", "severity": "major", "replacement": "", "remedy": "Change one of them."}
    return {**told, **_quoted(place, book.chapters), "others": others, "why": "They cannot both be true."}


def _quoted(span: TextSpan, chapters: Sequence[Chapter]) -> dict[str, Any]:
    """A passage as models quote it: with straight quotation marks, without the last stop, not longer than asked."""
    content = next(each.content for each in chapters if each.chapter_number == span.chapter)
    words = content[span.start : span.end].translate(_STRAIGHT).rstrip(".。").split(" ")
    return {"chapter": span.chapter, "quote": " ".join(words[:MAX_QUOTE_WORDS])}
