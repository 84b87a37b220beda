"""Find instructions that a model sends back as if they were text of the book."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from bookgen.providers.text import TextRequest
from bookgen.writing import sentences
from bookgen.writing.blocks import fences, joined, spaced_paragraphs
from bookgen.writing.material import TextChange, anchor
from bookgen.writing.reply_cleanup import Cleaned
from bookgen.writing.text_units import units

MIN_UNITS = 4  # for a whole sentence of the instructions
MIN_UNITS_WITHIN = 9  # for a part of a sentence
_CLAUSE_ENDS = re.compile(r"[;:]\s")  # where models often divide a sentence into two
UNUSABLE = "Your last reply to this could not be used"  # the text after this quotes the model
REMOVED = "The model repeated its instructions. The paragraph was removed."
_NOT_OURS = re.compile(rf"<book_data>.*?</book_data>|{UNUSABLE}.*", re.DOTALL)


def instructions(request: TextRequest) -> str:
    """The service's own words in `request`, without the book's data and what is quoted from the model's replies."""
    ours = [block.text for block in request.system[:1]] + [m.text for m in request.messages if m.role == "user"]
    return "\n\n".join(_NOT_OURS.sub("", text) for text in ours)


def echoed(text: str, instructed: str) -> list[str]:
    """The sentences of `text` that occur in `instructed`."""
    whole, running, pairs = _comparable_forms(instructed)
    found = []
    for sentence in sentences.split(text):
        said = units(sentence)
        maybe = len(said) >= MIN_UNITS_WITHIN and said[:2] in pairs and said[-2:] in pairs
        if (maybe and f" {' '.join(said)} " in running) or (len(said) >= MIN_UNITS and said in whole):
            found.append(sentence)
    return found


def without_echo(text: str, instructed: str) -> Cleaned:
    """`text` without the paragraphs that consist only of sentences of the instructions."""
    kept: list[tuple[str, str]] = []
    changes: list[TextChange] = []
    for space, paragraph in spaced_paragraphs(text):
        if _has_own_words(paragraph, instructed):
            kept.append((space, paragraph))
        else:
            changes.append(TextChange("instructions", REMOVED, paragraph.strip(), follows=anchor(joined(kept[-3:]))))
    return Cleaned(joined(kept), tuple(changes)) if changes else Cleaned(text)


def _has_own_words(paragraph: str, instructed: str) -> bool:
    """Whether the paragraph has code, or a sentence that does not come from the instructions."""
    return bool(fences(paragraph)) or len(echoed(paragraph, instructed)) < len(sentences.split(paragraph))


@lru_cache(maxsize=16)
def _comparable_forms(instructed: str) -> tuple[frozenset[tuple[str, ...]], str, frozenset[tuple[str, ...]]]:
    """The instructions in the three forms with which `echoed` compares a text.

    The forms are the words of each sentence and clause, all words as one string, and each pair of adjacent words.
    """
    said = [units(sentence) for sentence in sentences.split(instructed)]
    clauses = [units(clause) for sentence in sentences.split(instructed) for clause in _CLAUSE_ENDS.split(sentence)]
    row = [unit for each in said for unit in each]
    return frozenset((*said, *clauses)), f" {' '.join(row)} ", frozenset(pairwise(row))
