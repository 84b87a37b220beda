"""Runs of text -> unbreakable words and the gaps between them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bookgen.render.fonts.typeface import Pieces, Typeface
from bookgen.render.model import Run

# A gap is how much of a word space it takes, and how much of a word space's stretch.
Gap = tuple[float, float]
Item = str | Gap  # one piece of a line: text to show, or a gap to leave
SPACE: Gap = (1.0, 1.0)
IDEOGRAPHIC: Gap = (0.0, 0.3)  # between ideographs: nothing, but it may open
SEAM: Gap = (0.0, 0.0)  # a word too long for any line may break here

LONG = 34
_CHUNK = 8
_WIDE = re.compile(
    "[\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_NEVER_FIRST = frozenset(
    "、。，．・：；？！゛゜ヽヾゝゞ々ー）］｝」』】〉》〕〗〙〛’”ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ,.!?:;)]}…‥％"
)
_NEVER_LAST = frozenset("（［｛「『【〈《〔〖〘〚‘“([{￥＄")
_OTHER_WAY = re.compile("[0-9A-Za-z\u00c0-\u024f]")
_PARTS = re.compile(r"[0-9]+(?:[.,:/][0-9]+)*|[A-Za-z\u00c0-\u024f]+|[^0-9A-Za-z\u00c0-\u024f]+")
SPACES = re.compile("[ \t\n]+")


@dataclass(slots=True)
class Words:
    """A paragraph ready to be broken. `notes[i]` are the notes called in word i."""

    pieces: list[Pieces] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    notes: dict[int, list[int]] = field(default_factory=dict)
    rtl: bool = False
    mixed: bool = False


class WordMaker:
    """Remembers the pieces of every token, so a word is looked at once in a book."""

    def __init__(
        self, typeface: Typeface, *, rtl: bool = False, note_sign: Callable[[int], str] = lambda note: str(note + 1)
    ) -> None:
        self.typeface = typeface
        self._rtl = rtl
        self._note_sign = note_sign
        self._known: dict[tuple[str, bool, bool, bool], Pieces] = {}

    def words(self, runs: Iterable[Run], **kind: bool) -> Words:
        words = Words(rtl=self._rtl)
        open_word: Pieces = ()
        for run in runs:
            if run.note is not None:
                words.notes.setdefault(len(words.pieces), []).append(run.note)
                open_word += self.typeface.pieces(self._note_sign(run.note), raised=True)
                continue
            for index, token in enumerate(SPACES.split(run.text)):
                if index and open_word:
                    self._close(words, open_word, SPACE)
                    open_word = ()
                if token:
                    open_word = self._add(words, open_word, token, run, kind)
        if open_word:
            self._close(words, open_word, SPACE)
        return words

    def _add(self, words: Words, open_word: Pieces, token: str, run: Run, kind: dict[str, bool]) -> Pieces:
        """The token joins the open word, or ends it where the script lets lines break without a space."""
        if token.isascii() and len(token) < LONG:
            return open_word + self._pieces(token, run, kind)
        if is_rtl(token) and _OTHER_WAY.search(token):
            # each part is shaped in its own direction, and put in its place when the line is known
            for part in _PARTS.findall(token):
                open_word += self._pieces(part, run, kind)
            return open_word
        for text, gap in units(token):
            open_word += self._pieces(text, run, kind)
            if gap is not None:
                self._close(words, open_word, gap)
                open_word = ()
        return open_word

    def _close(self, words: Words, pieces: Pieces, gap: Gap) -> None:
        words.pieces.append(pieces)
        words.gaps.append(gap)
        if not words.mixed and not pieces[0][0].isascii() and any(is_rtl(text) for text, _ in pieces):
            words.mixed = True

    def _pieces(self, token: str, run: Run, kind: dict[str, bool]) -> Pieces:
        bold, italic = run.bold or kind.get("bold", False), run.italic != kind.get("italic", False)
        key = (token, bold, italic, run.code)
        plain = not kind.keys() - {"bold", "italic"}
        known = self._known.get(key) if plain else None
        if known is None:
            known = self.typeface.pieces(token, **{**kind, "bold": bold, "italic": italic, "mono": run.code})
            if plain:
                self._known[key] = known
        if run.href or run.strike:
            return tuple((text, style.variant(href=run.href, strike=run.strike)) for text, style in known)
        return known


def units(token: str) -> Iterable[tuple[str, Gap | None]]:
    """A token cut where its script breaks: between ideographs, and inside what no line could hold."""
    if _WIDE.search(token):
        return _ideographs(token)
    if len(token) >= LONG:
        chunks = [token[at : at + _CHUNK] for at in _cuts(token)]
        return [(chunk, SEAM) for chunk in chunks[:-1]] + [(chunks[-1], None)]
    return [(token, None)]


def _cuts(token: str) -> list[int]:
    return list(range(0, len(token), _CHUNK))


def _ideographs(token: str) -> list[tuple[str, Gap | None]]:
    """Kinsoku: nothing that closes starts a line, nothing that opens ends one."""
    found: list[tuple[str, Gap | None]] = []
    held = ""
    for character, after in zip(token, [*token[1:], ""], strict=True):
        held += character
        breakable = bool(_WIDE.match(character) or (after and _WIDE.match(after)))
        if (
            after
            and breakable
            and after not in _NEVER_FIRST
            and character not in _NEVER_LAST
            and not unicodedata.combining(after)
        ):
            found.append((held, IDEOGRAPHIC))
            held = ""
    found.append((held, None))
    return found


def is_rtl(text: str) -> bool:
    """Whether the first letter with a direction reads from the right."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False
