"""Find stock phrases of model prose, and chapters that end by stating their moral.

A single stock phrase proves nothing. A paragraph in which most sentences have one is a finding, and so are last lines
that explain what the chapter meant. The phrases of each language are in `stock_phrases.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from bookgen.writing import sentences
from bookgen.writing.blocks import paragraphs
from bookgen.writing.flaw import Flaw
from bookgen.writing.language import primary
from bookgen.writing.not_prose import has_speech, not_prose

MIN_PHRASES = 3
MIN_SHARE = 0.6  # of a paragraph's sentences must have a stock phrase
LAST_SENTENCES = 3

STOCK = "This paragraph is made of stock phrases: “{}”."
MORAL = "The chapter ends by stating its message outright."

_FILE = Path(__file__).with_name("stock_phrases.toml")
_WHO = r"(?:he|she|they|i|we|\w+)"


def stock_paragraphs(content: str, tag: str) -> list[Flaw]:
    """The paragraphs of running prose in which most sentences have a stock phrase."""
    patterns = _patterns(primary(tag), "phrases")
    blocks = paragraphs(_plain(content)) if patterns else []
    exempt = not_prose(blocks)
    flaws = []
    for index, block in enumerate(blocks):
        found = [] if index in exempt else _dense(block, patterns[0])
        if found:
            flaws.append(Flaw("stock_phrases", index, block[:200], STOCK.format("”, “".join(found[:4]))))
    return flaws


def _dense(block: str, pattern: re.Pattern[str]) -> Sequence[str]:
    """The stock phrases of the paragraph if most of its sentences have one, else an empty list."""
    found = list(dict.fromkeys(match[0].casefold() for match in pattern.finditer(block)))
    if len(found) < MIN_PHRASES:
        return []
    said = sentences.split(block)
    with_one = sum(bool(pattern.search(sentence)) for sentence in said)
    return found if with_one >= MIN_SHARE * len(said) else []


def moral(content: str, tag: str) -> list[Flaw]:
    """A finding with the last sentences of a chapter if they state its moral; empty if they do not."""
    patterns = _patterns(primary(tag), "morals")
    blocks = paragraphs(_plain(content)) if patterns else []
    last = len(blocks) - 1
    if last < 1 or last in not_prose(blocks) or has_speech(blocks[-1]):
        return []
    said = sentences.split(blocks[-1])[-LAST_SENTENCES:]
    if any(pattern.search(text) for text in (" ".join(said), *said) for pattern in patterns):
        return [Flaw("moral", last, " ".join(said)[-200:], MORAL)]
    return []


def _plain(text: str) -> str:
    """`text` with all apostrophes alike."""
    return text.replace("'", "’")


@cache
def _patterns(code: str, kind: str) -> tuple[re.Pattern[str], ...]:
    """A language's patterns; empty if there are none.

    For the `kind` "phrases", one pattern finds every phrase. For "morals", each moral has its own pattern.
    """
    listed = _lists().get(code, {}).get(kind, ())
    told = [each.replace("WHO", _WHO) for each in listed]
    if kind == "phrases" and told:
        return (re.compile(rf"\b(?:{'|'.join(told)})", re.IGNORECASE),)
    return tuple(re.compile(each, re.IGNORECASE) for each in told)


@cache
def _lists() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return tomllib.loads(_FILE.read_text("utf-8"))
