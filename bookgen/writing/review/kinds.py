"""The kinds of findings that an editor may report, by the kind of book."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from bookgen.models import Book, BookKind, SuggestionType, story_kind
from bookgen.writing.craft import repeats_passages


class FindingKind(StrEnum):
    """The kinds of problems that an editor reports in a text."""

    CONTRADICTION = "contradiction"
    UNPREPARED = "unprepared"
    UNRESOLVED = "unresolved"
    MISSING = "missing"
    REPETITION = "repetition"
    EXPLAINED = "explained"
    STOCK_PHRASE = "stock_phrase"
    UNCLEAR = "unclear"
    UNCLEAR_STEP = "unclear_step"
    UNDEFINED_TERM = "undefined_term"
    UNSAFE_ADVICE = "unsafe_advice"
    CLAIM = "claim"


# How a prompt describes each kind.
DESCRIPTIONS: Mapping[FindingKind, str] = {
    FindingKind.CONTRADICTION: (
        "two passages, or a passage and what is settled about the book, cannot both be true: who, where, when, how "
        "many, who has or knows what, what somebody did or said, what is physically possible"
    ),
    FindingKind.UNPREPARED: (
        "a person, an object or a remark that comes from nowhere: the passage relies on something that the reader has "
        "not been told by then"
    ),
    FindingKind.UNRESOLVED: (
        "a set-up that leads nowhere: a question, an object, a promise or a threat that the text makes the reader "
        "remember and never comes back to"
    ),
    FindingKind.MISSING: (
        "something that the book's data or its plan asks for and the text lacks; quote the passage where the reader "
        "notices that it is missing"
    ),
    FindingKind.REPETITION: (
        "the same information told again as if it were new, or the same device (gesture, image, turn of phrase, way to "
        "open or end a scene) used so often that a reader notices; quote each place that you count"
    ),
    FindingKind.EXPLAINED: "the moral, the theme or a feeling is said outright where the scene has shown it already",
    FindingKind.STOCK_PHRASE: "a ready-made phrase, image or gesture where the book elsewhere is particular",
    FindingKind.UNCLEAR: (
        "a sentence that has to be read twice: who speaks, what a pronoun means, what happens in which order, a slip "
        "of punctuation that changes the sense"
    ),
    FindingKind.UNCLEAR_STEP: (
        "a step that the reader cannot carry out as it stands: a quantity, a tool, the order, the time or the sign "
        "that it has worked is not given, or is given too late"
    ),
    FindingKind.UNDEFINED_TERM: (
        "a term, an abbreviation or a tool that the audience does not know and that is not explained where it is first "
        "needed"
    ),
    FindingKind.UNSAFE_ADVICE: (
        "advice that can hurt the reader, their health, money, property or legal position as it stands, or that lacks "
        "a warning or a limit"
    ),
    FindingKind.CLAIM: (
        "a fact about the real world (a number, date, law, study, quotation, method) that is wrong, doubtful or needs "
        "a source before a reader relies on it"
    ),
}

_FICTION = (
    FindingKind.CONTRADICTION,
    FindingKind.UNPREPARED,
    FindingKind.UNRESOLVED,
    FindingKind.MISSING,
    FindingKind.REPETITION,
    FindingKind.EXPLAINED,
    FindingKind.STOCK_PHRASE,
    FindingKind.UNCLEAR,
    FindingKind.CLAIM,
)
_NON_FICTION = (
    FindingKind.CONTRADICTION,
    FindingKind.UNCLEAR_STEP,
    FindingKind.UNDEFINED_TERM,
    FindingKind.UNSAFE_ADVICE,
    FindingKind.CLAIM,
    FindingKind.MISSING,
    FindingKind.REPETITION,
    FindingKind.STOCK_PHRASE,
    FindingKind.UNCLEAR,
)
_KINDS_OF: Mapping[str, tuple[FindingKind, ...]] = {
    **dict.fromkeys(("fiction", "memoir", "children", "verse"), _FICTION),
    "non_fiction": _NON_FICTION,
}

SUGGESTION_TYPES: Mapping[FindingKind, SuggestionType] = {
    **dict.fromkeys(
        (FindingKind.CONTRADICTION, FindingKind.UNPREPARED, FindingKind.UNRESOLVED, FindingKind.MISSING),
        SuggestionType.CONTINUITY,
    ),
    **dict.fromkeys((FindingKind.REPETITION, FindingKind.EXPLAINED, FindingKind.STOCK_PHRASE), SuggestionType.STYLE),
    **dict.fromkeys(
        (FindingKind.UNCLEAR, FindingKind.UNCLEAR_STEP, FindingKind.UNDEFINED_TERM, FindingKind.UNSAFE_ADVICE),
        SuggestionType.CLARITY,
    ),
    FindingKind.CLAIM: SuggestionType.CONSISTENCY,
}


def kinds_for(book: Book) -> tuple[FindingKind, ...]:
    """The kinds that an editor of this book may report. If the genre is unknown, these are all kinds.

    Repetition is not reported in picture books and songs, where it is intended.
    """
    is_picture_book = book.kind is BookKind.CHILDRENS
    kinds = _FICTION if is_picture_book else _KINDS_OF.get(story_kind(book), tuple(FindingKind))
    repeats = is_picture_book or repeats_passages(book)
    return tuple(kind for kind in kinds if kind is not FindingKind.REPETITION or not repeats)
