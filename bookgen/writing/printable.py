"""Remove what no book may contain: characters that PostgreSQL cannot store, and a model's <think> blocks."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ufffe\uffff\ud800-\udfff]")
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def printable(text: str) -> str:
    return _UNPRINTABLE.sub("", text)


def without_thoughts(text: str) -> str:
    return _THOUGHTS.sub("", text)
