"""Fences around text that is data for a model. The text inside cannot close its fence."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

# An opening angle bracket: plain, in other widths, or as an entity, escaped any number of times.
_OPENING = re.compile(r"[<＜﹤‹〈❮]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?", re.IGNORECASE)


def fenced(mark: str, text: str) -> str:
    """The text between <mark> and </mark>. If the text contains one of these tags, the tag's bracket is replaced."""
    return f"<{mark}>\n{_OPENING.sub(lambda found: _harmless(mark, text, found), text)}\n</{mark}>"


def _harmless(mark: str, text: str, found: re.Match[str]) -> str:
    letters = _letters(mark)
    return "(" if _begins(text, found.end(), letters) else found[0]


def _begins(text: str, start: int, letters: str) -> bool:
    """Whether `letters` follow in the text at `start`. Characters other than letters and digits are skipped."""
    seen = (letter for sign in islice(text, start, None) for letter in _letters(sign))
    return all(letter == next(seen, "") for letter in letters)


def _letters(text: str) -> str:
    """The letters and digits of a text, with differences of width and case removed."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum())
