"""Text without the characters that no book has and no database keeps."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ufffe\uffff\ud800-\udfff]")


def printable(text: str) -> str:
    return _UNPRINTABLE.sub("", text)
