"""Find the ends of sentences in any script, to detect text that was cut off, to cut text and to join texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bookgen.writing.blocks import fences, joined, paragraphs, spaced_paragraphs, without_fences
from bookgen.writing.bounded_cache import by_paragraph

_CLOSERS = "\"'”’“‘»«›‹)\\]】」』｣）］〉》*_\u200e\u200f\u202c\u2069"
_GREEK = "\u0370-\u03ff\u1f00-\u1fff"
_FULL = "。！？｡؟۔।॥։።။៕"
_LIST_STOPS = ".;。．；"
# The end of a sentence: a stop that needs no space after it, or any stop before white space or the end of the text.
# Greek questions end with a semicolon, Japanese speech with only a bracket, and French has a space before a closing
# mark. The pattern starts with a single set, so `re` can skip all other characters quickly.
_END = re.compile(
    rf"[{_FULL}.!?…‥;\u037e—–」』]"
    rf"(?:(?<=[{_FULL}])[{_FULL}]*|(?<=[.!?…‥])[.!?…‥]*|(?<=[{_GREEK}][;\u037e])|(?<=[—–])(?=[\"”’»])"
    rf"|(?<=[」』])(?=\n|\Z))"
    rf"[{_CLOSERS}]*(?:[ \u00a0\u202f]»(?=\s|\Z|[.,;:!?…]))?(?:\[\^?\d+\])*"
)
_NO_SPACE_NEEDED = re.compile(r"[。！？｡।॥։።။៕]")
_ABBREVIATION = re.compile(
    r"(?:^|\n)\s*\d{1,3}\.$|(?:^|[\s(\"'“‘„«])(?:[A-Za-zÀ-ɏ\u0370-\u04ff]|\d{1,2}|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Mt|Lt|Col|Gen|Capt|Sgt|Rev|Hon|vs|etc|cf|No|Nr|Bd"
    r"|Hr|Fr|Frl|bzw|usw|ca|Abs|Mme|Mlle|Sra|Srta|Dra|Ud|Uds|Sig|Dott|e\.g|i\.e|z\.\s?B|d\.\s?h|u\.\s?a|p\.\s?ej)\.$"
    r"|\d\.?\s(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|O[ck]t|Nov|De[cz]|Ene|Abr|Ago|Dic)\.$",
    re.IGNORECASE,
)
_UNSPACED_THAI = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff]")
_CLAUSE_SPACE = re.compile(r"(?<=[\u0e01-\u0eff\u1780-\u17ff\"”’)])(?=\s)|(?<=[\u0e01-\u0eff\u1780-\u17ff\"”’)])$")
_ENDLESS_LINE = re.compile(r"\s*(?:[-*+]\s|\d+[.)]\s|[|>]|```|~~~|\*\*\*\s*$|---\s*$|\* \* \*\s*$)")
_NOTE = re.compile(r"\s*\[\^[^\]\n]{1,200}\]:")
_HEADING = re.compile(r"\s*#{1,6}\s")


def ends(text: str) -> Iterator[int]:
    """The offset just after each sentence, closing quotation marks included."""
    for match in _END.finditer(text):
        if _ends_sentence(text, match):
            yield match.end()


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    after = text[match.end() : match.end() + 12]
    if not match[0].isascii() and _NO_SPACE_NEEDED.search(match[0]):
        return True
    if after and not after[0].isspace():
        return False
    following = after.lstrip(" \t“”„«»\"'‘’(—–-")
    if following[:1].islower() and "\n" not in after[: len(after) - len(after.lstrip())]:
        return False
    # "Dr. Grey", "J. Smith": a single full stop after an abbreviation, with more text on the same line.
    lone_stop = match[0] == "."
    return not (lone_stop and after[:1] == " " and _ABBREVIATION.search(text[max(0, match.start() - 8) : match.end()]))


def clause_ends(text: str) -> Iterator[int]:
    """The offsets at which text in a script without full stops (Thai, Lao) may be cut: before its spaces."""
    for match in _CLAUSE_SPACE.finditer(text):
        yield match.start()


def _cut_ends(text: str) -> Iterator[int]:
    """The offsets at which text in any script may be cut."""
    return clause_ends(text) if has_no_stops(text) else ends(text)


def has_no_stops(text: str) -> bool:
    """Whether the text is Thai or Lao, whose prose separates sentences by spaces and has no full stops."""
    last = text[-400:]
    return not last.isascii() and len(_UNSPACED_THAI.findall(last)) > len(last) / 2


def split(text: str) -> list[str]:
    """The sentences of `text` outside its fenced code, trimmed, in order. A paragraph's end ends a sentence too."""
    return list(_forwards(text))


def backwards(text: str) -> Iterator[str]:
    """The sentences of `split` from last to first. They are computed lazily, paragraph by paragraph."""
    for paragraph in reversed(paragraphs(without_fences(text))):
        yield from reversed(_of_paragraph(paragraph))


def as_list(texts: Iterable[str]) -> str:
    """The texts on one line, with semicolons between them and a full stop at the end, in place of their own stops."""
    return "; ".join(text.rstrip(_LIST_STOPS) for text in texts) + "."


def without_notes(text: str) -> str:
    """The text without the paragraphs that define its footnotes."""
    return joined([each for each in spaced_paragraphs(text) if not _NOTE.match(each[1])])


def first(text: str) -> str:
    """The first sentence of `text`; empty if there is none."""
    return next(_forwards(text), "")


def last(text: str) -> str:
    return next(backwards(text), "")


def _forwards(text: str) -> Iterator[str]:
    for paragraph in paragraphs(without_fences(text)):
        yield from _of_paragraph(paragraph)


@by_paragraph
def _of_paragraph(paragraph: str) -> tuple[str, ...]:
    found: list[str] = []
    start = 0
    for end in (*_cut_ends(paragraph), len(paragraph)):
        if piece := paragraph[start:end].strip():
            found.append(piece)
        start = end
    return tuple(found)


def is_finished(text: str) -> bool:
    """Whether `text` ends where a sentence, a list item, a table row or a line of verse may end.

    In a script without full stops this cannot be determined, so such text counts as finished.
    """
    text = text.rstrip()
    if not text:
        return False
    line = text.rsplit("\n", 1)[-1]
    if _HEADING.match(line):
        return False
    if _ENDLESS_LINE.match(line) or has_no_stops(text) or _is_verse(text):
        return True
    return any(end == len(text) for end in _ends_in(text, len(text) - 200))


MAX_VERSE_CHARACTERS = 72


def _is_verse(text: str) -> bool:
    """Whether the last paragraph has short lines, which may end without a full stop."""
    lines = paragraphs(text)[-1].split("\n") if text.strip() else []
    return len(lines) > 1 and all(len(line) <= MAX_VERSE_CHARACTERS for line in lines)


def _ends_in(text: str, start: int) -> Iterator[int]:
    start = max(start, 0)
    return (start + end for end in ends(text[start:]))


def complete(text: str) -> str:
    """`text` up to the end of its last whole sentence, or of its last whole line in verse; empty if it has none.

    A fenced code block is whole or left out.
    """
    code = fences(text)
    if code and not code[-1].is_closed:
        return text[: code[-1].start].rstrip()
    after = code[-1].end if code else 0
    return text[:after] + _complete_prose(text[after:]) if text[after:].strip() or not code else text.rstrip()


def _complete_prose(text: str) -> str:
    if _is_verse(text):
        return text.rpartition("\n")[0].rstrip()
    marks = clause_ends(text[:-1]) if has_no_stops(text) else ends(text)
    return text[: max(marks, default=0)].rstrip()


def inside_quotation(paragraph: str) -> bool:
    """Whether a quotation that begins in `paragraph` is still open at its end."""
    low = "„" in paragraph  # then “ is the closing mark
    return (
        paragraph.count('"') % 2 == 1
        or paragraph.count("„" if low else "“") > paragraph.count("”") + low * paragraph.count("“")
        or paragraph.count("「") > paragraph.count("」")
        or ("«" in paragraph and paragraph.count("«") > paragraph.count("»"))
    )
