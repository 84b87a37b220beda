"""Mistakes planted in correct prose, each with its correct text.

A mistake counts as found if it is corrected exactly.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from bookgen.writing.proofreading.book import BookText, ChapterText
from bookgen.writing.proofreading.correction import Correction
from bookgen.writing.proofreading.doubled import NEVER_TWICE
from bookgen.writing.proofreading.quotation import Marks, marks

EACH = 4  # per kind and book
FEW = 3  # of a kind that is detected by the book's habits
STYLED = 80  # marks that a book needs to have a recognisable habit
NAMES = 6  # of the book, for its bible
NUMBERS = 24  # added to a book so that it has a style for them

_NAME = re.compile(r"(?<=[^\W\d_] )[^\W\d_a-z][^\W\d_A-Z]{5,}")
_CAPITAL = f"[{''.join(filter(str.isupper, map(chr, range(0x2000))))}]"
# A sentence whose end, and that of the one before, cannot be an abbreviation, which would have fewer letters.
_SENTENCE = rf"(?<=[^\W\d_]{{4}}[.!?] ){_CAPITAL}[^.!?…\n\\]{{80,180}}[^\W\d_]{{4}}\.(?= {_CAPITAL})"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake: the correct text has `sound` in place of `text[start:end]`."""

    kind: str
    chapter: int
    start: int
    end: int
    sound: str


@dataclass(frozen=True, slots=True)
class MistakeKind:
    """A way to make mistakes: where one is possible, and what is written there.

    `certain`: the correction is unambiguous. `times`: how many are planted in a book.
    """

    name: str
    pattern: Callable[[BookText, Marks], re.Pattern[str] | None]
    spoil: Callable[[re.Match[str], random.Random], str]
    certain: bool = True
    times: int = EACH


def prepared(book: BookText, chance: random.Random) -> BookText:
    """The book with a bible of its names, and with some numbers, because old novels hardly have any."""
    counts = Counter(match[0] for text in book.texts.values() for match in _NAME.finditer(text.prose))
    lower = {word for word in book.words if word.islower()}
    names = [name for name, _ in counts.most_common(60) if name.lower() not in lower and book.words[name] >= 5]
    texts = dict(book.texts)
    for _ in range(NUMBERS):
        number = chance.choice(list(texts))
        ends = [match.start() for match in re.finditer(r"(?<=[.!?])(?=\n\n)", texts[number].content)]
        if ends:
            place = chance.choice(ends)
            first = chance.randint(11, 80)
            content = texts[number].content
            said = f" ({first} km, {chance.randint(3, 90)} %, 18{first}–19{first})"
            texts[number] = ChapterText(content[:place] + said + content[place:], book.primary)
    return BookText(texts, book.primary, frozenset(names[:NAMES]))


def spoilt(book: BookText, chance: random.Random) -> tuple[BookText, list[Mistake]]:
    """The book with some mistakes of every kind that is possible in it."""
    pair = marks(book) or Marks("“", "”")
    texts = dict(book.texts)
    mistakes: list[Mistake] = []
    for kind in KINDS:
        pattern = kind.pattern(book, pair)
        for _ in range(kind.times if pattern else 0):
            number = chance.choice(list(texts))
            taken = [each for each in mistakes if each.chapter == number]
            places = [
                match
                for match in (pattern.finditer(texts[number].content) if pattern else ())
                if not any(match.start() - 400 < each.end and each.start < match.end() + 400 for each in taken)
            ]
            if places:
                match = chance.choice(places)
                texts[number], made = _written(texts[number], match, kind.spoil(match, chance), kind.name, number)
                shift = len(texts[number].content) - len(match.string)
                mistakes = [_moved(each, made, shift) for each in mistakes] + [made]
    return BookText(texts, book.primary, book.names), mistakes


def _written(
    text: ChapterText, match: re.Match[str], wrong: str, kind: str, number: int
) -> tuple[ChapterText, Mistake]:
    content = text.content[: match.start()] + wrong + text.content[match.end() :]
    return ChapterText(content, text.primary), Mistake(
        kind, number, match.start(), match.start() + len(wrong), match[0]
    )


def _moved(earlier: Mistake, made: Mistake, shift: int) -> Mistake:
    if earlier.chapter != made.chapter or earlier.start < made.start:
        return earlier
    return replace(earlier, start=earlier.start + shift, end=earlier.end + shift)


def mends(correction: Correction, mistake: Mistake, content: str) -> bool:
    """Whether the correction restores the correct text, whatever passage it quotes."""
    low, high = min(correction.start, mistake.start), max(correction.end, mistake.end)
    sound = content[low : mistake.start] + mistake.sound + content[mistake.end : high]
    fixed = content[low : correction.start] + correction.replacement + content[correction.end : high]
    return sound == fixed


def _always(pattern: str) -> Callable[[BookText, Marks], re.Pattern[str] | None]:
    compiled = re.compile(pattern)
    return lambda _book, _pair: compiled


def _doubled(book: BookText, _pair: Marks) -> re.Pattern[str]:
    return re.compile(rf"(?<=[^\W\d_] )(?:{'|'.join(NEVER_TWICE[book.primary].split())})(?= [^\W\d_]{{3}})")


def _mark_before(book: BookText, _pair: Marks) -> re.Pattern[str]:
    return re.compile(
        r"(?<=[^\W\d_])[,.](?= [^\W\d_])" if book.primary == "fr" else r"(?<=[^\W\d_])[,;!?](?= [^\W\d_])"
    )


def _last_closer(_book: BookText, pair: Marks) -> re.Pattern[str]:
    """Find paragraphs that are one spoken sentence, if no speech follows: that could be its continuation."""
    opener, closer = re.escape(pair.opener), re.escape(pair.closer)
    said = rf"[^{opener}{closer}\"'’(.!?…\n\\]{{9,}}[.!?]"
    return re.compile(rf"(?<=\n\n){opener}{pair.space}{said}{pair.space}{closer}(?=\n\n[^—–{opener}-])")


def _middle_closer(_book: BookText, pair: Marks) -> re.Pattern[str]:
    return re.compile(rf"(?<=[,.!?]){pair.space}{re.escape(pair.closer)}(?= [^\W\d_])")


def _straight(book: BookText, pair: Marks) -> re.Pattern[str] | None:
    opener, closer = re.escape(pair.opener), re.escape(pair.closer)
    if '"' in (pair.opener, pair.closer) or book.count(re.compile(f"[{opener}{closer}]")) < STYLED:
        return None
    return re.compile(rf"(?<!\S){opener}{pair.space}\w|\w[,.!?]?{pair.space}{closer}(?!\w)")


def _names(book: BookText, _pair: Marks) -> re.Pattern[str] | None:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(book.names)})(?![\w-])") if book.names else None


def _dash(book: BookText, _pair: Marks) -> re.Pattern[str] | None:
    usual = max((" – ", " — ", "—"), key=lambda dash: book.count(re.compile(rf"[^\W\d_]{dash}[^\W\d_]")))
    often = book.count(re.compile(rf"[^\W\d_]{usual}[^\W\d_]"))
    return re.compile(rf"(?<=[^\W\d_]){usual}(?=[^\W\d_])") if often >= STYLED else None


def _apostrophe(book: BookText, _pair: Marks) -> re.Pattern[str] | None:
    return (
        re.compile(r"(?<=[^\W\d_])’(?=[^\W\d_])")
        if book.count(re.compile(r"(?<=[^\W\d_])’(?=[^\W\d_])")) >= STYLED
        else None
    )


def _misspelt(match: re.Match[str], chance: random.Random) -> str:
    """Drop or double an inner letter, or swap it with the next one."""
    name = match[0]
    place = chance.randint(1, len(name) - 4)
    swapped = name[:place] + name[place + 1] + name[place] + name[place + 2 :]
    lost, doubled = name[:place] + name[place + 1 :], name[:place] + name[place] + name[place:]
    return chance.choice([each for each in (swapped, lost, doubled) if each != name])


def _unmarked(match: re.Match[str], _chance: random.Random) -> str:
    """Remove the last mark and the space before it."""
    return match[0][:-1].rstrip("\u00a0\u202f ")


KINDS = (
    MistakeKind("doubled word", _doubled, lambda match, _: f"{match[0]} {match[0]}"),
    MistakeKind("space before a mark", _mark_before, lambda match, _: f" {match[0]}"),
    MistakeKind("no space after a mark", _always(r"(?<=[^\W\d_]{3}), (?=[^\W\d_]{3})"), lambda match, _: match[0][0]),
    MistakeKind("speech not closed", _last_closer, _unmarked),
    MistakeKind("straight marks", _straight, lambda match, _: re.sub(r"[^\w,.!?]+", '"', match[0]), times=FEW),
    MistakeKind("name misspelt", _names, _misspelt),
    MistakeKind("two spaces", _always(r"(?<=[^\W\d_]) (?=[^\W\d_])"), lambda _match, _: "  "),
    MistakeKind("doubled mark", _always(r"(?<=[^\W\d_]{2}),(?= )"), lambda match, _: match[0] * 2),
    MistakeKind(
        "bracket not closed",
        _always(r"(?<= )\([^()\n\\.!?]{4,}\)\.(?=\s)|(?<=[.!?] )\([^()\n\\.!?]{4,}\)(?=\n)"),
        lambda match, _: match[0].replace(")", ""),
    ),
    MistakeKind("typed dash", _dash, lambda _match, chance: chance.choice((" - ", " -- ")), times=FEW),
    MistakeKind("straight apostrophe", _apostrophe, lambda _match, _: "'", times=FEW),
    MistakeKind(
        "number and unit",
        _always(r"(?<=\d) (?=km)|(?<=\d) (?=%)|(?<=\d\d\d\d)–(?=\d\d\d\d)"),
        lambda match, _: match[0].replace(" ", "").replace("–", "-"),
    ),
    MistakeKind("sentence twice", _always(_SENTENCE), lambda match, _: f"{match[0]} {match[0]}"),
    MistakeKind("speech not closed in mid-paragraph", _middle_closer, lambda _match, _: "", certain=False),
)
