"""Finds quotation marks and brackets that are never closed, or that differ from those in the rest of the book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bookgen.models import Severity, SuggestionType
from bookgen.writing import sentences
from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction, Reason
from bookgen.writing.proofreading.habits import MIN_COUNT, slips
from bookgen.writing.proofreading.structure import blocks

# The places of opening and closing marks. Swedish uses ” for both, German closes with “ or reverses » and «.
_OPENING = re.compile('(?:^|(?<=[\\s(\\[—–-]))([“„«»”"「])(?P<space>[\u00a0\u202f ]?)(?=[^\\W_]|[¿¡…])', re.MULTILINE)
_ANY_OPENING = re.compile("(?:^|(?<=[\\s(\\[—–-]))([“„«»”\"「‘‚'])(?=[   ]?[^\\W_])", re.MULTILINE)
_CLOSING = re.compile('(?<=[\\w.,;:!?…])[\u00a0\u202f ]?([”“»«"」])(?!\\w)')
_STRAIGHT = '"'
_CURLY = re.compile("[“”„]")
_STRAIGHT_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_CURLY_APOSTROPHE = re.compile(r"(?<=[^\W\d_])’(?=[^\W\d_])")
_ENGLISH_PAIR = ("en", "pt", "tr", "ko", "zh", "vi", "nl", "es", "it", "ar", "hi")
# The style of a book that has too few marks to show its own.
_PAIRS = {
    **dict.fromkeys(_ENGLISH_PAIR, ("“", "”")),
    **dict.fromkeys(("de", "cs", "sk", "sl", "bg"), ("„", "“")),
    **dict.fromkeys(("pl", "hu", "ro"), ("„", "”")),
    **dict.fromkeys(("fr", "ru", "uk", "el"), ("«", "»")),
    "sv": ("”", "”"),
    "ja": ("「", "」"),
}
_OPENING_BRACKET = re.compile(r"(?<![^\s\"“„«»”‘’—–])\((?=\S)")  # otherwise it is a misread letter or a smiley
_ANY_CLOSER = re.compile("[\"“”»«'’](?!\\w)|[」』]")  # of any style: mixed styles are a different fault
_TOLD_OF = re.compile(
    r"[.!?…]\s+[^\W\d_A-ZÀ-ÞΑ-ΩА-ЯЇІЄҐ]"
)  # the text after this is not speech, so the speech ended before
_FIRST = frozenset("¿¡…'‘“„«(")  # first characters of speech, besides letters
_LETTER = re.compile(r"\w")
_WORDS_AROUND = re.compile(r"\S+")

_UNCLOSED = Reason(SuggestionType.PUNCTUATION, Severity.MAJOR, "This quotation mark is never closed.", "unclosed")
_MIXED = Reason(
    SuggestionType.CONSISTENCY, Severity.INFO, "The rest of the book uses other quotation marks.", "mixed_marks"
)

MarkFor: TypeAlias = Callable[[str, str], str]  # chooses the mark from the text before and after it in its word
OddMark: TypeAlias = tuple[re.Pattern[str], MarkFor]  # the pattern of an odd mark, and its replacement

# English speech. Single marks may be apostrophes, so between them, speech extends to the end of the paragraph at most.
_SPEECH = re.compile('[“"][^”"\n]*[”"]?|(?<!\\w)[\'‘][^\n]*')


@dataclass(frozen=True, slots=True)
class Marks:
    """The quotation marks of a book. `space`: the space inside the marks, mainly in French."""

    opener: str
    closer: str
    space: str = ""


def marks(book: BookText) -> Marks | None:
    """The book's quotation marks. If the book has few, the usual marks of its language; None if these are unknown."""
    opening = Counter(
        match.group(1, "space") for text in book.texts.values() for match in _OPENING.finditer(text.prose)
    )
    closing = Counter(match[1] for text in book.texts.values() for match in _CLOSING.finditer(text.prose))
    if opening.total() >= MIN_COUNT and closing:
        (opener, space), _ = opening.most_common(1)[0]
        return Marks(opener, closing.most_common(1)[0][0], space)
    pair = _PAIRS.get(book.primary)
    return pair and Marks(*pair)


def usual_opening(book: BookText) -> str:
    """The mark that opens most quotations of the book, double or single; empty if it has few."""
    found = Counter(match[1] for text in book.texts.values() for match in _ANY_OPENING.finditer(text.prose))
    return found.most_common(1)[0][0] if found.total() >= MIN_COUNT else ""


def narration(text: ChapterText) -> str:
    """The narration of an English chapter, with U+0000 in place of dialogue so that offsets stay the same."""
    return _SPEECH.sub(lambda match: "\0" * len(match[0]), text.prose)


def unclosed(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections that close speech at the end of a paragraph, and brackets, each with the id of its chapter.

    Speech that continues in the next paragraph is correct if it is opened again there and closed only at its end.
    """
    pair = marks(book)
    for chapter_id, text in book.texts.items():
        for offset, block in blocks(text.prose):
            for correction in (_unclosed_speech(text, offset, block, pair), _unclosed_bracket(text, offset, block)):
                if correction:
                    yield chapter_id, correction


def _unclosed_speech(text: ChapterText, offset: int, block: str, pair: Marks | None) -> Correction | None:
    if pair is None or not _is_open(block, pair):
        return None
    start = block.rfind(pair.opener)
    speech = block[start:].rstrip()
    if _ANY_CLOSER.search(speech, 1) or "\n" in speech or "\0" in speech or len(sentences.split(speech[1:])) != 1:
        return None
    if len(speech) < 3 or speech[-1] not in ".!?…" or (pair.opener == pair.closer and speech[1].isspace()):
        return None
    if _TOLD_OF.search(speech) or _goes_on(text.prose, offset + len(block), pair):
        return None
    space = pair.space if speech[1] == pair.space else ""
    closed = f"{speech}{space}{pair.closer}"
    return text.correction(offset + start, offset + start + len(speech), closed, _UNCLOSED)


def _is_open(block: str, pair: Marks) -> bool:
    if pair.opener != pair.closer:
        return block.count(pair.opener) == block.count(pair.closer) + 1
    openings = [match.start(1) for match in _OPENING.finditer(block) if match[1] == pair.opener]
    return block.count(pair.opener) % 2 == 1 and openings[-1:] == [block.rfind(pair.opener)]


def _goes_on(prose: str, place: int, pair: Marks) -> bool:
    """Whether speech that is open at the paragraph end `place` continues in the next paragraph or is closed later.

    In French, Russian and other languages, one pair of marks encloses a whole dialogue, with a dash before each speech.
    """
    if prose[place : place + 40].lstrip().startswith((pair.opener, "—", "–", "-")):
        return True
    if pair.opener == pair.closer:
        end = prose.find(pair.closer, place)
        return end > 0 and not prose[end - 1].isspace()
    return _is_closed(prose, place, pair.opener, pair.closer)


def _is_closed(prose: str, place: int, opener: str, closer: str) -> bool:
    """Whether, from `place` on, the closing mark comes before the next opening mark.

    False if there is no closing mark.
    """
    again, end = prose.find(opener, place), prose.find(closer, place)
    return end >= 0 and (again < 0 or end < again)


def _unclosed_bracket(text: ChapterText, offset: int, block: str) -> Correction | None:
    if block.count("(") != block.count(")") + 1 or _is_closed(text.prose, offset + len(block), "(", ")"):
        return None
    start = block.rfind("(")
    said = next(iter(sentences.split(block[start:])), "")
    if (
        not _OPENING_BRACKET.match(block, start)
        or ")" in block[start:]
        or len(said) < 3
        or "\n" in said
        or "\0" in said
    ):
        return None
    if said[-1].isalnum():
        closed = f"{said})"
    elif said[-1] in ".!?":
        closed = f"{said[:-1]}){said[-1]}"
    else:
        return None
    return text.correction(offset + start, offset + start + len(said), closed, _UNCLOSED)


def mixed(book: BookText) -> Iterator[tuple[int, Correction]]:
    """Corrections of straight marks in a book with curly marks, or of curly marks in a book with straight marks.

    Each comes with the id of its chapter.
    """
    odd = [*_odd_quotation_marks(book), *_odd_apostrophes(book)]
    for chapter_id, text in book.texts.items() if odd else ():
        for word in _WORDS_AROUND.finditer(text.prose):
            if "\0" in word[0] or len(word[0]) < 2:
                continue
            fixed = _set(word[0], odd)
            if fixed != word[0]:
                yield chapter_id, text.correction(*word.span(), fixed, _MIXED)


def _odd_quotation_marks(book: BookText) -> Iterator[OddMark]:
    pair = marks(book)
    if pair is None:
        return
    usual = re.compile(f"[{pair.opener}{pair.closer}]")
    if _STRAIGHT not in (pair.opener, pair.closer):
        if _is_slip(book, re.compile(_STRAIGHT), usual):
            yield re.compile(_STRAIGHT), lambda before, after: _mark(pair, before, after)
    elif _is_slip(book, _CURLY, usual):
        yield _CURLY, lambda _before, _after: _STRAIGHT


def _odd_apostrophes(book: BookText) -> Iterator[OddMark]:
    if _is_slip(book, _STRAIGHT_APOSTROPHE, _CURLY_APOSTROPHE):
        yield _STRAIGHT_APOSTROPHE, lambda _before, _after: "’"
    elif _is_slip(book, _CURLY_APOSTROPHE, _STRAIGHT_APOSTROPHE):
        yield _CURLY_APOSTROPHE, lambda _before, _after: "'"


def _is_slip(book: BookText, odd: re.Pattern[str], usual: re.Pattern[str]) -> bool:
    return bool(slips(Counter({"odd": book.count(odd), "usual": book.count(usual)}), "usual"))


def _set(word: str, odd: Sequence[OddMark]) -> str:
    for pattern, mark_for in odd:
        word = "".join(_marked(word, pattern, mark_for))
    return word


def _marked(word: str, pattern: re.Pattern[str], mark_for: MarkFor) -> Iterator[str]:
    end = 0
    for found in pattern.finditer(word):
        yield word[end : found.start()] + mark_for(word[: found.start()], word[found.end() :])
        end = found.end()
    yield word[end:]


def _mark(pair: Marks, before: str, after: str) -> str:
    """The quotation mark to use between `before` and `after`, in place of a straight mark.

    The straight mark is kept if it is not certain whether an opening or a closing mark is meant.
    """
    if not before.strip("([—–*_¿¡"):
        return f"{pair.opener}{pair.space}" if after[:1].isalnum() or after[:1] in _FIRST else _STRAIGHT
    return f"{pair.space}{pair.closer}" if _LETTER.search(before) else _STRAIGHT
