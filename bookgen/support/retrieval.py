"""Finds the passages of a few documents that match a question. Rare words count more than common ones."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_PASSAGE_CHARACTERS = 1_000
IN_TITLE = 3  # a word of the title counts as much as three of the text

_HEADING = re.compile(r"^(#{1,4})\s+(.+?)\s*#*$")
_WORD = re.compile(r"\w+")
_STOP_WORDS = """
    a an and are as at be by can do does for from how i if in is it its me my of on or so that the this to what when
    where which who why will with you your there they we was not but s
"""
STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Passage:
    title: str
    url: str
    text: str


def passages_of(file: Path, url: str) -> list[Passage]:
    """Return the sections of a Markdown file with their headings. Long sections are split into several passages."""
    passages: list[Passage] = []
    trail: list[str] = []
    lines: list[str] = []
    fenced = False

    def close() -> None:
        text = "\n".join(lines).strip()
        lines.clear()
        if text and trail:
            title = " › ".join(part for part in trail if part)
            address = f"{url}{file.stem}/#{slug(trail[-1])}"
            passages.extend(Passage(title, address, piece) for piece in _pieces(text))

    for line in file.read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if heading:
            close()
            depth = len(heading[1])
            trail[depth - 1 :] = [heading[2].strip("`* ")]
        else:
            lines.append(line)
    close()
    return passages


def slug(heading: str) -> str:
    """Return the anchor of a heading, in the form that GitHub uses."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def _pieces(text: str) -> list[str]:
    """Cut a section into passages.

    Short paragraphs are joined. Long ones, such as tables, are split between lines.
    """
    pieces = [""]
    for paragraph in re.split(r"\n\s*\n", text):
        parts = [paragraph] if len(paragraph) <= MAX_PASSAGE_CHARACTERS else paragraph.splitlines()
        for place, part in enumerate(parts):
            glue = "\n" if place else "\n\n"
            if pieces[-1] and len(pieces[-1]) + len(part) > MAX_PASSAGE_CHARACTERS:
                pieces.append("")
            pieces[-1] = (pieces[-1] + glue + part).strip()
    return [piece for piece in pieces if piece]


_RULE = re.compile(r"^[|\s:-]+$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_MARKS = re.compile(r"[`*]|\[([^\]]+)\]\([^)]*\)")


def statements(text: str) -> list[str]:
    """Return the statements of a passage: its table rows, list items and paragraphs, without markup."""
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        goes_on = False
        for line in paragraph.splitlines():
            if _RULE.match(line) or line.lstrip().startswith("```"):
                goes_on = False
                continue
            row = line.lstrip().startswith("|")
            item = bool(_ITEM.match(line))
            said = " – ".join(filter(None, map(str.strip, line.split("|")))) if row else line.strip()
            said = _MARKS.sub(r"\1", _ITEM.sub("", said)).strip()
            if goes_on and not row and not item:
                found[-1] = f"{found[-1]} {said}"
            else:
                found.append(said)
            goes_on = not row
    return found


class PassageIndex:
    """A searchable index of passages."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = list(passages)
        self._counts = [_counted(passage) for passage in self._passages]
        holders = Counter(word for counts in self._counts for word in counts)
        self._weight = {word: math.log(1 + len(self._passages) / held) for word, held in holders.items()}
        self._mean = sum(map(Counter.total, self._counts)) / max(len(self._counts), 1)

    def best(self, question: str, most: int) -> list[Passage]:
        """Return at most `most` passages that contain words of the question, the best first."""
        asked = frozenset(words(question))
        scores = [self._score(asked, counts) for counts in self._counts]
        ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return [self._passages[place] for place in ranked[:most] if scores[place] > 0]

    def matching_statements(self, passage: Passage, question: str, most: int) -> list[str]:
        """Return up to `most` statements of the passage that match the question, in order.

        If none matches, return the first statements of the passage.
        """
        said = statements(passage.text)
        asked = frozenset(words(question))
        weights = [sum(self._weight.get(word, 0) for word in asked & frozenset(words(each))) for each in said]
        best = sorted(range(len(said)), key=lambda place: (-weights[place], place))[:most]
        kept = [place for place in sorted(best) if weights[place] > 0] or list(range(min(most, len(said))))
        return [said[place] for place in kept]

    def coverage(self, passage: Passage, question: str) -> float:
        """Return how much of the question the passage covers, from 0 to 1.

        Each word has a weight; a word that occurs in no passage weighs as much as the rarest one. The result is the
        weight of the question's words that also occur in the passage, as a share of the weight of all words of the
        question.
        """
        asked, has = frozenset(words(question)), frozenset(words(f"{passage.title} {passage.text}"))
        unknown = math.log(1 + len(self._passages))
        weights = {word: self._weight.get(word, unknown) for word in asked}
        return sum(weights[word] for word in asked & has) / (sum(weights.values()) or 1)

    def first(self, most: int) -> list[Passage]:
        return self._passages[:most]

    def _score(self, asked: frozenset[str], counts: Counter[str]) -> float:
        # BM25 with the usual constants.
        longer = 0.25 + 0.75 * counts.total() / max(self._mean, 1)
        return sum(
            self._weight[word] * counts[word] * 2.2 / (counts[word] + 1.2 * longer) for word in asked if word in counts
        )


def _counted(passage: Passage) -> Counter[str]:
    counts = Counter(words(passage.text))
    for word in words(passage.title):
        counts[word] += IN_TITLE
    return counts


def words(text: str) -> list[str]:
    """Return the significant words of a text, case-folded and without common English endings."""
    found = [word for word in _WORD.findall(text.casefold().replace("_", " ")) if word not in STOP]
    return [_stem(word) for word in found]


def _stem(word: str) -> str:
    for ending in ("ings", "ing", "ies", "ers", "er", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word
