"""What a model sends back of its own instructions as if it were text of the book."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from bookgen.providers.text import TextRequest
from bookgen.writing import sentences
from bookgen.writing.flaw import paragraphs
from bookgen.writing.units import units

LEAST_UNITS = 4  # of a whole sentence of the instructions
LEAST_UNITS_WITHIN = 9  # of a piece of one
_CLAUSE_ENDS = re.compile(r"[;:]\s")  # at which a model likes to make two sentences of one
UNUSABLE = "Your last reply to this could not be used"  # and what follows quotes the model
_NOT_OURS = re.compile(rf"<book_data>.*?</book_data>|{UNUSABLE}.*", re.DOTALL)


def instructions(request: TextRequest) -> str:
    """What `request` says in words of ours: its first system block and its user messages, without the book's data and
    what it quotes."""
    ours = [block.text for block in request.system[:1]] + [m.text for m in request.messages if m.role == "user"]
    return "\n\n".join(_NOT_OURS.sub("", text) for text in ours)


def echoed(text: str, instructed: str) -> list[str]:
    """The sentences of `text` that stand in `instructed`."""
    whole, running, pairs = _known(instructed)
    found = []
    for sentence in sentences.split(text):
        said = units(sentence)
        maybe = len(said) >= LEAST_UNITS_WITHIN and said[:2] in pairs and said[-2:] in pairs
        if (maybe and f" {' '.join(said)} " in running) or (len(said) >= LEAST_UNITS and said in whole):
            found.append(sentence)
    return found


def without_echo(text: str, instructed: str) -> str:
    """`text` without the paragraphs in which instructions are sent back."""
    kept = [paragraph for paragraph in paragraphs(text) if not echoed(paragraph, instructed)]
    return text if len(kept) == len(paragraphs(text)) else "\n\n".join(kept)


@lru_cache(maxsize=16)
def _known(instructed: str) -> tuple[frozenset[tuple[str, ...]], str, frozenset[tuple[str, ...]]]:
    """Its sentences and their clauses, all its units in a row, and which of them stand beside each other."""
    said = [units(sentence) for sentence in sentences.split(instructed)]
    clauses = [units(clause) for sentence in sentences.split(instructed) for clause in _CLAUSE_ENDS.split(sentence)]
    row = [unit for each in said for unit in each]
    return frozenset((*said, *clauses)), f" {' '.join(row)} ", frozenset(pairwise(row))
