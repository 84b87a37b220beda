"""What text may consist of, wherever it comes from."""

from __future__ import annotations

import re
import unicodedata

_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# They turn what follows around, also what stands behind the text: the ending of a file's name, the next column.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")

# Ranges of the letters and marks between which a line may end: no pattern, since one takes milliseconds to make.
_WIDE = (
    ("\u2e80", "\u303e"),
    ("\u3041", "\u9fff"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
    ("\uff00", "\uffef"),
    ("\U00020000", "\U0003ffff"),
)


def is_wide(character: str) -> bool:
    """Whether it is of a script whose lines break between letters."""
    return character >= "\u2e80" and any(first <= character <= last for first, last in _WIDE)


def clean(text: str) -> str:
    """NFC, one kind of line end, and only characters that XML and a page can carry."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    return _ILLEGAL.sub("", text.replace("\u2029", "\n\n").replace("\ufeff", "").replace("\u00ad", ""))


def one_line(text: str) -> str:
    """A title or a name, which other text stands beside: without what would turn that around."""
    return " ".join(_TURNING.sub("", clean(text)).split())
