"""Converts spans of text to words and the gaps between them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from bookgen.render.characters import is_wide
from bookgen.render.fonts.style import meet_halfway
from bookgen.render.fonts.typeface import Pieces, Typeface
from bookgen.render.layout.bidi import Gap, has_rtl, parts
from bookgen.render.layout.word_metrics import CLOSED_UP, IDEOGRAPHIC, SEAM, SPACE, Hyphenate, Token, after_dashes
from bookgen.render.model import Span, Spans

LONG = 34
_CHUNK = 8
_NEVER_FIRST = frozenset(
    "\u3000、。，．・：；？！゛゜ヽヾゝゞ々ー）］｝」』】〉》〕〗〙〛’”ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ,.!?:;)]}…‥％"
)
_NEVER_LAST = frozenset("（［｛「『【〈《〔〖〘〚‘“([{￥＄")
SPACES = re.compile("[ \t\n]+")
_NOTE = "\x00"  # stands for a reference to a note
_MANY = re.compile("[ \t\n]{2}|[\t\n]")
_CODE_WORDS = re.compile("[ \t\n]*[^ \t\n]+[ \t\n]*|[ \t\n]+")


@dataclass(slots=True)
class Words:
    """A paragraph ready for line breaking. `notes[i]` are the notes referred to in word i.

    `plain`: all gaps are spaces and all text reads from left to right. `mixed`: some text reads from right to left.
    """

    tokens: list[Token] = field(default_factory=list)
    notes: dict[int, list[int]] = field(default_factory=dict)
    rtl: bool = False
    plain: bool = False
    mixed: bool = False


class WordMaker:
    """Makes the words of one book. It caches tokens, so that each word is processed once."""

    def __init__(self, typeface: Typeface, *, rtl: bool = False) -> None:
        self.typeface = typeface
        self._rtl = rtl
        self._hangs = not rtl and not typeface.unspaced
        self._tokens: dict[tuple[Pieces, Gap], Token] = {}
        self._simple: dict[tuple[object, ...], dict[str, Token]] = {}
        self._odd: set[Token] = set()  # right-to-left tokens and tokens without a space after them

    def words(self, spans: Iterable[Span], **kind: bool) -> Words:
        words = Words(rtl=self._rtl)
        tokens = words.tokens
        open_word: Pieces = ()
        for span in spans:
            if span.note is not None:
                words.notes.setdefault(len(tokens), []).append(span.note)
                open_word += self.typeface.pieces(str(span.note + 1), raised=True)
                continue
            simple = self._simple.setdefault(
                (span.bold, span.italic, span.code, span.href, span.strike, *kind.items()), {}
            )
            if span.code:
                open_word = self._add_code(words, open_word, span, kind, simple)
                continue
            texts = SPACES.split(span.text) if _MANY.search(span.text) else span.text.split(" ")
            open_word = self._joined(words, open_word, texts[0], span, kind, simple)
            if len(texts) == 1:
                continue
            if open_word:
                tokens.append(self._token(open_word))
            known = list(map(simple.get, texts[1:-1]))
            if all(known):
                tokens += known  # type: ignore[arg-type]
            else:
                for text, token in zip(texts[1:-1], known, strict=True):
                    if token is not None:
                        tokens.append(token)
                    elif pieces := self._joined(words, (), text, span, kind, simple):
                        tokens.append(self._token(pieces))
            open_word = self._joined(words, (), texts[-1], span, kind, simple)
        if open_word:
            tokens.append(self._token(open_word))
        words.plain = not any(map(self._odd.__contains__, tokens)) if self._odd else True
        words.mixed = not words.plain and any(token.rtl for token in tokens)
        return words

    def _add_code(
        self, words: Words, open_word: Pieces, span: Span, kind: dict[str, bool], simple: dict[str, Token]
    ) -> Pieces:
        """Add code to the unfinished word, as `_joined` adds text.

        Every space is as wide as a letter, and no gap stretches.
        """
        for text in _CODE_WORDS.findall(span.text):
            open_word = self._joined(words, open_word, SPACES.sub(_fixed, text), span, kind, simple)
            if text[-1] in " \t\n":
                words.tokens.append(self._token(open_word, SEAM))
                open_word = ()
        return open_word

    def words_as_spaced(self, spans: Spans) -> Words:
        """The words of a line of verse. Each gap is as wide as the spaces that the author put there."""
        words = self.words(spans)
        text = "".join(span.text if span.note is None else _NOTE for span in spans)
        runs = SPACES.findall(text.strip(" \t\n"))
        if any(len(run) > 1 for run in runs):
            spaced = [index for index, token in enumerate(words.tokens[:-1]) if token.gap is SPACE]
            for index, run in zip(spaced, runs, strict=False):  # a word that no face can show is no token
                words.tokens[index] = self._token(words.tokens[index].pieces, (float(len(run)), 1.0))
            words.plain = False
        return words

    def _joined(
        self, words: Words, open_word: Pieces, text: str, span: Span, kind: dict[str, bool], simple: dict[str, Token]
    ) -> Pieces:
        """Add text to the unfinished word `open_word` and return the result.

        Words that end within the text are added to `words`. `simple` caches the words of this style by their text.
        """
        known = simple.get(text)
        if known is not None:
            return open_word + known.pieces
        return self._add(words, open_word, text, span, kind, simple) if text else open_word

    def _add(
        self, words: Words, open_word: Pieces, text: str, span: Span, kind: dict[str, bool], simple: dict[str, Token]
    ) -> Pieces:
        """Add text that is not cached, for `_joined`. Words also end where the script allows breaks without spaces."""
        if len(text) < LONG and (has_rtl(text) or (self._rtl and not any(map(is_wide, text)))):
            # each part is shaped in its own direction; its place is decided when the line is known
            pieces = tuple(piece for part in parts(text) for piece in self._pieces(part, span, kind))
            simple[text] = self._token(pieces)
            return open_word + pieces
        cut = [(self._pieces(part, span, kind), gap) for part, gap in units(text)]
        for (pieces, gap), following in zip(cut, [*cut[1:], ((), None)], strict=True):
            open_word += pieces
            if gap is not None:
                gap = CLOSED_UP if gap is IDEOGRAPHIC and _closes_up(pieces, following[0]) else gap
                words.tokens.append(self._token(open_word, gap))
                open_word = ()
        if len(cut) == 1:
            simple[text] = self._token(pieces)
        return open_word

    def _token(self, pieces: Pieces, gap: Gap = SPACE) -> Token:
        token = self._tokens.get((pieces, gap))
        if token is None:
            token = self._tokens[pieces, gap] = Token(pieces, gap, hangs=self._hangs)
            if token.rtl or gap is not SPACE:
                self._odd.add(token)
        return token

    def _pieces(self, text: str, span: Span, kind: dict[str, bool]) -> Pieces:
        bold, italic = span.bold or kind.get("bold", False), span.italic != kind.get("italic", False)
        dots = self.typeface.emphasis if span.italic and any(map(is_wide, text)) else ""
        italic = italic and not dots  # ideographs have no italics
        pieces = self.typeface.pieces(text, **{**kind, "bold": bold, "italic": italic, "mono": span.code})
        if span.href or span.strike or dots:
            href, strike = span.href, span.strike
            return tuple((part, style.variant(href=href, strike=strike, dots=dots)) for part, style in pieces)
        return pieces


def _fixed(run: re.Match[str]) -> str:
    """Replace each space of the run with a no-break space, which in code is as wide as a letter."""
    return "\u00a0" * len(run[0])


def _closes_up(before: Pieces, after: Pieces) -> bool:
    """Whether to leave out a half em between two texts, because the marks that meet there leave half an em empty."""
    if not before or not after:
        return False
    (left, one), (right, other) = before[-1], after[0]
    return meet_halfway(left, right) and one.is_half(left[-1]) and other.is_half(right[0])


def divided(words: Words, room: float, hyphenate: Hyphenate) -> Words:
    """The words for lines of width `room`, with breaks in words that are too wide."""
    return replace(words, tokens=[token.within(room, hyphenate) for token in words.tokens])


def units(token: str) -> list[tuple[str, Gap | None]]:
    """Divide a token where it may break without a space: between ideographs, and inside very long words.

    Each part comes with the gap after it, or with None if it is the last.
    """
    if not token.isascii() and any(map(is_wide, token)):
        return [piece for part, gap in _ideographs(token) for piece in _chunks(part, gap)]
    return _chunks(token, None)


def _chunks(part: str, gap: Gap | None) -> list[tuple[str, Gap | None]]:
    if len(part) < LONG:
        return [(part, gap)]
    if (cuts := after_dashes(part)) and "/" not in part:
        *words, word = (part[start:end] for start, end in pairwise([0, *cuts, len(part)]))
        return [piece for each in words for piece in _chunks(each, SEAM)] + _chunks(word, gap)
    *chunks, last = (part[at : at + _CHUNK] for at in range(0, len(part), _CHUNK))
    return [*((chunk, SEAM) for chunk in chunks), (last, gap)]


def _ideographs(token: str) -> list[tuple[str, Gap | None]]:
    """Divide between ideographs by the kinsoku rules: closing marks never start a line, opening marks never end one."""
    found: list[tuple[str, Gap | None]] = []
    held = ""
    for character, after in zip(token, [*token[1:], ""], strict=True):
        held += character
        breakable = is_wide(character) or is_wide(after)
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
