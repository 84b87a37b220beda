"""Finds hyphens typed as dashes between words, in a book that nearly always has real dashes there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from bookgen.models import Severity, SuggestionType
from bookgen.writing.proofreading.book import BookText
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.habits import slips

_SPACE = "[ \u00a0\u202f]"
# A dash between two words. A hyphen or an en dash without spaces joins words and is not a dash.
_DASH = re.compile(
    rf"(?<![^\W\d_])(?P<word>[^\W\d_]+[,;:!?.…”’»)\"]?)(?P<dash>{_SPACE}(?:--?|[–—]){_SPACE}|--|—)(?=[“‘«(\"¿¡]?[^\W\d_])"
)
_TYPED = (" - ", " -- ", "--")  # dashes as typed without a key for them
_SET = (" – ", " — ", "—")
_REASON = Reason(SuggestionType.CONSISTENCY, Severity.INFO, "The rest of the book uses another dash.", "mixed_dashes")


def corrections(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections that replace hyphens by dashes, each with the id of its chapter."""
    counts = Counter(_manner(match["dash"]) for text in book.texts.values() for match in _DASH.finditer(text.prose))
    usual = max(_SET, key=lambda manner: counts[manner])
    odd = slips(counts, usual).intersection(_TYPED)
    for chapter_id, text in book.texts.items() if odd else ():
        for match in _DASH.finditer(text.prose):
            if _manner(match["dash"]) in odd:
                yield chapter_id, text.correction(*match.span(), f"{match['word']}{usual}", _REASON)


def _manner(dash: str) -> str:
    return re.sub(_SPACE, " ", dash)
