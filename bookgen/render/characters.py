"""Which characters a text may contain, and how other characters are removed."""

from __future__ import annotations

import re
import unicodedata

_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# Bidirectional controls. They can reverse the text after them too, such as a file name's extension or the next column.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")

# Ranges of characters between which a line may break. Not a regular expression, since compiling it takes milliseconds.
_WIDE = (
    ("\u2e80", "\u303e"),
    ("\u3041", "\u9fff"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
    ("\uff00", "\uffef"),
    ("\U00020000", "\U0003ffff"),
)


def is_wide(character: str) -> bool:
    """Whether the character is from a script, such as Chinese, that allows a line break between any two characters."""
    return character >= "\u2e80" and any(first <= character <= last for first, last in _WIDE)


def clean(text: str) -> str:
    """The text in NFC, with `\\n` line ends, and without characters that XML or a page cannot contain."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    return _ILLEGAL.sub("", text.replace("\u2029", "\n\n").replace("\ufeff", "").replace("\u00ad", ""))


def one_line(text: str) -> str:
    """Clean a title or name and join its lines. Also removes controls that would reverse the text next to it."""
    return " ".join(_TURNING.sub("", clean(text)).split())
