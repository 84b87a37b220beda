"""Finds numbers and units that are not written as in the rest of the book: spaces before units, hyphens in ranges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.habits import slips

MIN_COUNT = 5  # times; lower than usual, because numbers are rare in books
MAX_SHARE = 0.2

_SPACES = "[ \u00a0\u202f]"
_UNIT = re.compile(
    rf"(?<![\w.,])(?P<first>\d[\d.,]*)(?P<between>{_SPACES}?)(?P<last>(?:km/h|kWh|km|cm|mm|kg|mg|ml|kW|Hz|°C|°F)(?!\w))"
)
_PERCENT = re.compile(rf"(?<![\w.,])(?P<first>\d[\d.,]*)(?P<between>{_SPACES}?)(?P<last>%(?!\w))")
_RANGE = re.compile(r"(?<![\w.,/–-])(?P<first>\d{1,4})(?P<between>[-–])(?P<last>\d{1,4})(?![\w/–-]|[.,]\d)")
_PATTERNS = (
    (_UNIT, "The rest of the book writes numbers with units differently."),
    (_PERCENT, "The rest of the book writes percentages differently."),
    (_RANGE, "The rest of the book writes number ranges with a dash."),
)


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections of units and ranges, each with the id of its chapter."""
    for pattern, explanation in _PATTERNS:
        reason = Reason(SuggestionType.CONSISTENCY, Severity.INFO, explanation, "number_style")
        found = [
            (chapter_id, text, match)
            for chapter_id, text in book.texts.items()
            for match in pattern.finditer(text.prose)
        ]
        counts = Counter(match["between"] for _, _, match in found)
        usual = max(counts, key=lambda between: counts[between], default="")
        odd = set() if usual == "-" else slips(counts, usual, min_count=MIN_COUNT, max_share=MAX_SHARE)
        for chapter_id, text, match in found:
            if match["between"] in odd:
                yield chapter_id, text.correction(*match.span(), f"{match['first']}{usual}{match['last']}", reason)
