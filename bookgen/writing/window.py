"""How much of a model's context window a text takes, estimated from above."""

from __future__ import annotations

import re

WINDOW = 32_000  # tokens: the smallest context that a whole book must fit, whatever its number of chapters

_WIDE = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_OTHER = re.compile(r"[\u0080-\u0dff\u1e00-\u1fff]")


def tokens(text: str) -> int:
    """About 4 characters a token in English, 2 in other alphabets, 1 in scripts without spaces."""
    wide = len(_WIDE.findall(text))
    other = len(_OTHER.findall(text))
    return round(wide * 1.1 + other / 2 + (len(text) - wide - other) / 4)


def clip(text: str, most: int) -> str:
    """`text` shortened at a word to about `most` tokens."""
    if tokens(text) <= most:
        return text
    kept = text[: max(1, len(text) * most // max(tokens(text), 1))]
    return (kept.rsplit(" ", 1)[0] if " " in kept else kept).rstrip(" ,;:") + " …"
