"""What text may consist of, wherever it comes from."""

from __future__ import annotations

import re
import unicodedata

_ILLEGAL = re.compile("[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """NFC, one kind of line end, and only characters that XML and a page can carry."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    return _ILLEGAL.sub("", text.replace("\u2029", "\n\n").replace("\ufeff", "").replace("\u00ad", ""))


def one_line(text: str) -> str:
    return " ".join(clean(text).split())
