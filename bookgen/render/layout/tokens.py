"""An unbreakable word with all that line breaking asks of it, worked out once a book."""

from __future__ import annotations

from collections.abc import Callable

from bookgen.render.fonts.typeface import Pieces
from bookgen.render.layout.bidi import is_rtl

HYPHEN_PENALTY, DASH_PENALTY = 200.0, 30.0

# How much of a mark may stand outside the measure at a line's end.
HANG = {".": 0.6, ",": 0.6, "-": 0.5, "‐": 0.5, "’": 0.5, "”": 0.45, "“": 0.45, "‘": 0.5, ";": 0.3, ":": 0.3}
HANG |= {"—": 0.2, "–": 0.2}
_DASHES = "-—–/"

Hyphenate = Callable[[str], tuple[int, ...]]

# A break inside a word: where, the width up to there, that of a line which ends there, its penalty.
# Where is negative if no hyphen is added.
Break = tuple[int, float, float, float]


class Token:
    """Widths are per mille of the type size; `overhang` is what may stand outside the measure."""

    __slots__ = ("_divided", "overhang", "pieces", "rtl", "whole", "width")

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.width = sum((style.words.get(text) or style.word(text))[0] for text, style in pieces)
        self.rtl = any(not text.isascii() and is_rtl(text) for text, _ in pieces)
        text, style = pieces[-1]
        hang = HANG.get(text[-1])
        self.overhang = style.word(text[-1])[0] * hang if hang else 0.0
        self.whole = self._at_dashes() if len(pieces) == 1 else ()
        self._divided: tuple[Break, ...] | None = None

    def divided(self, hyphenate: Hyphenate) -> tuple[Break, ...]:
        """Its breaks with hyphens among them; only words of one piece are divided."""
        if self._divided is None:
            self._divided = self._at_hyphens(hyphenate) if len(self.pieces) == 1 else ()
        return self._divided

    def _at_dashes(self) -> tuple[Break, ...]:
        """Behind a dash or a slash that has letters on both sides."""
        text, style = self.pieces[0]
        found: list[Break] = []
        if any(dash in text for dash in _DASHES):
            for at in range(1, len(text) - 1):
                if text[at] in _DASHES and text[at + 1] not in _DASHES:
                    part = style.word(text[: at + 1])[0]
                    found.append((-(at + 1), part, part, DASH_PENALTY))
        return tuple(found)

    def _at_hyphens(self, hyphenate: Hyphenate) -> tuple[Break, ...]:
        text, style = self.pieces[0]
        hyphen = style.word(style.hyphen_text)[0] * (1 - HANG["-"])
        found = list(self.whole)
        for at in hyphenate(text):
            part = style.word(text[:at])[0]
            found.append((at, part, part + hyphen, HYPHEN_PENALTY))
        return tuple(sorted(found, key=lambda each: abs(each[0])))
