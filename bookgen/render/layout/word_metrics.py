"""A word with everything that line breaking needs to know about it, computed once per book."""

from __future__ import annotations

import re
from collections.abc import Callable

from bookgen.render.fonts.style import Style
from bookgen.render.fonts.typeface import Pieces
from bookgen.render.layout.bidi import Gap, has_rtl

SPACE_WIDTH = 250.0
HYPHEN_PENALTY, DASH_PENALTY, SEAM_PENALTY, FORCED_PENALTY = 200.0, 30.0, 60.0, 400.0

SPACE: Gap = (1.0, 1.0)
IDEOGRAPHIC: Gap = (0.0, 0.3)  # between ideographs: no width, but it can be stretched
CLOSED_UP: Gap = (-2.0, 0.3)  # the same where half an em is left out, as between 。 and 「
SEAM: Gap = (0.0, 0.0)  # a place where a word too long for any line may break

# How much of a mark may hang over the line's end, as a share of its width.
HANG = {".": 0.6, ",": 0.6, "-": 0.5, "‐": 0.5, "’": 0.5, "”": 0.45, "“": 0.45, "‘": 0.5, ";": 0.3, ":": 0.3}
HANG |= {"—": 0.2, "–": 0.2, "\u3000": 1.0}
HANG |= {"\u00a0": 1.0}  # the space after a word of code
# Dashes that belong to what follows them, or to the closing mark after them, are not among these.
_DASHES = re.compile(r"""(?<=[^-—–/“‘„‚(\[{¿¡])[-—–/]+(?=[“‘„‚«»‹›"'(\[{¿¡]*\w)""")

Hyphenate = Callable[[str], tuple[int, ...]]


# A place where a line may end, inside or after a word: its position, the width from the word's start to the start of
# the next line, the width to the end of this line, and its penalty. The position is 0 after the word, positive where a
# hyphen is added, and negative where none is.
Break = tuple[int, float, float, float]


class Token:
    """A word and the gap after it. Widths are per mille of the type size.

    `text` and `style` are only set for words of one piece, as most are. `advance` is the distance from this word's
    start to the next one's, `end` the distance to the end of a line that ends with this word.
    """

    __slots__ = ("_divided", "advance", "end", "gap", "pieces", "rtl", "style", "text", "whole", "width")

    def __init__(self, pieces: Pieces, gap: Gap = SPACE, *, hangs: bool = True) -> None:
        self.pieces = pieces
        self.gap = gap
        self.width = sum((style.words.get(text) or style.word(text))[0] for text, style in pieces)
        self.advance = self.width + SPACE_WIDTH * gap[0]
        self.rtl = any(has_rtl(text) for text, _ in pieces)
        self.text = ""
        self.style: Style | None = None
        if len(pieces) == 1:
            self.text, self.style = pieces[0]
        self.end = self.width - (_overhang(*pieces[-1]) if hangs or pieces[-1][0].endswith("\u3000") else 0.0)
        behind = (0, self.advance, self.end, SEAM_PENALTY if gap is SEAM else 0.0)
        self.whole: tuple[Break, ...] = (*self._at_dashes(), behind)
        self._divided: tuple[Break, ...] = ()

    def divided(self, hyphenate: Hyphenate) -> tuple[Break, ...]:
        """The places where a line may end, including hyphenation points. Only words of one piece are hyphenated.

        Words in capitals are not: they are names, signs and abbreviations.
        """
        if not self._divided:
            self._divided = self._with([] if self.text.isupper() else self._at_hyphens(hyphenate))
        return self._divided

    def _with(self, hyphens: list[Break]) -> tuple[Break, ...]:
        *dashes, behind = self.whole
        return (*sorted(dashes + hyphens, key=lambda each: abs(each[0])), behind)

    def within(self, room: float, hyphenate: Hyphenate) -> Token:
        """This word for lines of width `room`: the word itself, or a copy that may break inside if it is too wide.

        The copy may break at its dashes and hyphenation points or, if a part between these is too wide, anywhere.
        """
        text, style = self.text, self.style
        if self.width <= room or not text or not style:
            return self
        narrow = Token(self.pieces, self.gap)
        narrow.end = self.end
        *places, behind = self._with(self._at_hyphens(hyphenate))
        starts = [0.0, *(start for _, start, _, _ in places)]
        ends = [*(end for _, _, end, _ in places), behind[2]]
        if any(end - start > room for start, end in zip(starts, ends, strict=True)):
            hyphen, sign = (style.word(style.hyphen_text)[0], 1) if text.isalpha() else (0.0, -1)
            parts = ((at, style.word(text[:at])[0]) for at in range(1, len(text)))
            places = [(sign * at, part, part + hyphen, FORCED_PENALTY) for at, part in parts]
        narrow.whole = narrow._divided = (*places, behind)
        return narrow

    def _at_dashes(self) -> list[Break]:
        text, style = self.text, self.style
        if not text or not style or style.is_code:
            return []  # a dash in code would look like a hyphen of the line's end
        parts = [(at, style.word(text[:at])[0]) for at in after_dashes(text)]
        return [(-at, part, part, DASH_PENALTY) for at, part in parts]

    def _at_hyphens(self, hyphenate: Hyphenate) -> list[Break]:
        text, style = self.text, self.style
        if not text or not style or not (places := hyphenate(text)):
            return []
        hyphen = style.word(style.hyphen_text)[0] * (1 - HANG["-"])
        parts = [(at, style.word(text[:at])[0]) for at in places]
        return [(at, part, part + hyphen, HYPHEN_PENALTY) for at, part in parts]


def after_dashes(text: str) -> list[int]:
    """The places in a word after a dash or slash between letters, where a line may end."""
    first = next((at for at, letter in enumerate(text) if letter.isalnum()), len(text))
    return [match.end() for match in _DASHES.finditer(text) if match.end() > first]


def _overhang(text: str, style: Style) -> float:
    hang = HANG.get(text[-1])
    return style.word(text[-1])[0] * hang if hang else 0.0
