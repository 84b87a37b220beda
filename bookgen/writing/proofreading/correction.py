"""A correction: one change of a chapter's text that the proofreader proposes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bookgen.models import Severity, SuggestionType

CONTEXT = 32  # characters of the text before and after, by which a correction is found again

CHECKER = "harper"  # the source of what only the checker says

_LETTER = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Correction:
    """`content[start:end]` is `original`, and `replacement` is to stand there instead; offsets count characters.

    `source` names the rule, the checker or the model that proposes it; `prefix` and `suffix` are what stands right
    before and after it.
    """

    start: int
    end: int
    original: str
    replacement: str
    type: SuggestionType
    severity: Severity
    explanation: str
    source: str
    prefix: str
    suffix: str

    @classmethod
    def at(
        cls,
        content: str,
        start: int,
        end: int,
        replacement: str,
        kind: SuggestionType,
        severity: Severity,
        explanation: str,
        source: str,
    ) -> Correction:
        prefix, suffix = content[max(0, start - CONTEXT) : start], content[end : end + CONTEXT]
        return cls(start, end, content[start:end], replacement, kind, severity, explanation, source, prefix, suffix)

    def overlaps(self, other: Correction) -> bool:
        """Whether both change the same characters, or insert at the same place."""
        return (self.start < other.end and other.start < self.end) or (self.start, self.end) == (other.start, other.end)


def honest(correction: Correction) -> Correction:
    """The correction under a type that it deserves: what is called spelling or punctuation is applied unread.

    Spelling changes one word by at most two letters; punctuation changes no letter.
    """
    match correction.type:
        case SuggestionType.SPELLING if not _is_spelling(correction.original, correction.replacement):
            return replace(correction, type=SuggestionType.STYLE)
        case SuggestionType.PUNCTUATION if _letters(correction.original) != _letters(correction.replacement):
            return replace(correction, type=SuggestionType.STYLE)
    return correction


def _is_spelling(original: str, replacement: str) -> bool:
    before, after = original.split(), replacement.split()
    changed = [(one, other) for one, other in zip(before, after, strict=False) if one != other]
    return len(before) == len(after) and len(changed) == 1 and within(*changed[0], 2)


def _letters(text: str) -> str:
    return "".join(_LETTER.findall(text))


def within(one: str, other: str, most: int) -> bool:
    """Whether at most `most` letters are added, left out, changed or swapped with their neighbour."""
    if abs(len(one) - len(other)) > most:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1] <= most
