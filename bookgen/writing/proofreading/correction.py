"""A correction: one change of a chapter's text that the proofreader proposes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bookgen.models import Severity, SuggestionType

CONTEXT = 32  # characters before and after a correction, to find it again in a changed text

_LETTER = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a correction. `source`: the rule, checker or model that found it."""

    type: SuggestionType
    severity: Severity
    explanation: str
    source: str


@dataclass(frozen=True, slots=True)
class Correction:
    """A proposal to replace `original`, which is `content[start:end]`, by `replacement`. Offsets count characters.

    `prefix` and `suffix`: the text right before and after it.
    """

    start: int
    end: int
    original: str
    replacement: str
    reason: Reason
    prefix: str
    suffix: str

    @classmethod
    def at(cls, content: str, start: int, end: int, replacement: str, reason: Reason) -> Correction:
        return cls(start, end, content[start:end], replacement, reason, *around(content, start, end))

    def overlaps(self, other: Correction) -> bool:
        """Whether both corrections change the same characters, or insert at the same place."""
        return (self.start < other.end and other.start < self.end) or (self.start, self.end) == (other.start, other.end)


def around(content: str, start: int, end: int) -> tuple[str, str]:
    """The text right before and after `content[start:end]`."""
    return content[max(0, start - CONTEXT) : start], content[end : end + CONTEXT]


def with_true_type(correction: Correction) -> Correction:
    """The correction, with its type changed to style if it changes more than its type may.

    Corrections of spelling and punctuation may be applied without being read. A spelling correction may change up to
    two letters of one word, join two words, or divide a word. A punctuation correction may not change any letter.
    """
    before, after = correction.original, correction.replacement
    match correction.reason.type:
        case SuggestionType.SPELLING:
            deserved = _is_spelling(before, after)
        case SuggestionType.PUNCTUATION:
            deserved = _letters(before) == _letters(after)
        case _:
            deserved = True
    return correction if deserved else replace(correction, reason=replace(correction.reason, type=SuggestionType.STYLE))


def _is_spelling(original: str, replacement: str) -> bool:
    before, after = original.split(), replacement.split()
    if abs(len(before) - len(after)) == 1:
        return "".join(before).casefold() == "".join(after).casefold()  # "so lange", "solange"
    changed = [(one, other) for one, other in zip(before, after, strict=False) if one != other]
    return len(before) == len(after) and len(changed) == 1 and within(*changed[0], 2)


def _letters(text: str) -> str:
    return "".join(_LETTER.findall(text))


def within(one: str, other: str, most: int) -> bool:
    """Whether at most `most` letters must be added, removed, replaced or swapped to turn `one` into `other`."""
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
