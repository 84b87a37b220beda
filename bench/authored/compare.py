"""Compares a reply with the text that the service keeps: by sentences, words and lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bookgen.writing import sentences
from bookgen.writing.text_units import UNIT

_BLANKS = re.compile(r"[ \t]+")
_BREAK = re.compile(r"(?: {2,}|\\)$")
LINE_BREAK = "↵"  # stands for a marked line break at the end of a line


@dataclass(frozen=True)
class Difference:
    """The differences between a reply and the text.

    `lost`: sentences of the reply that are not in the text. `added`: sentences of the text that are not in the reply.
    `words` and `lines`: how many were lost, added or replaced. `changes`: the number of places that differ.
    """

    lost: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    words: int = 0
    lines: int = 0
    changes: int = 0

    @property
    def is_none(self) -> bool:
        return not (self.lost or self.added or self.words or self.lines)


def compare(reply: str, text: str) -> Difference:
    sent, kept = told(reply), told(text)
    lost: list[str] = []
    added: list[str] = []
    changes = 0
    for tag, i, j, k, m in SequenceMatcher(None, sent, kept, autojunk=False).get_opcodes():
        if tag != "equal":
            changes += 1
            lost += sent[i:j]
            added += kept[k:m]
    words = _changed(UNIT.findall(reply), UNIT.findall(text))
    lines = _changed(printed_lines(reply), printed_lines(text))
    return Difference(tuple(lost), tuple(added), words, lines, max(changes, int(words + lines > 0)))


def told(text: str) -> list[str]:
    """The sentences of `text`, with white space reduced to single spaces."""
    return [" ".join(sentence.split()) for sentence in sentences.split(text)]


def printed_lines(text: str) -> list[str]:
    """The lines of `text` as a reader sees them: with single spaces, and one empty line instead of several.

    A line break marked in Markdown differs from an unmarked one.
    """
    lines: list[str] = []
    for line in text.strip().split("\n"):
        printed = _BLANKS.sub(" ", line.strip().removesuffix("\\")).strip()
        marked = LINE_BREAK if printed and _BREAK.search(line) else ""
        if printed or (lines and lines[-1]):
            lines.append(printed + marked)
    return lines


def _changed(one: Sequence[str], other: Sequence[str]) -> int:
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return sum(max(j - i, m - k) for tag, i, j, k, m in codes if tag != "equal")
