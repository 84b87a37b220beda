"""Typewriter marks -> printer's marks, as the language wants them. Never adds or removes a word.

U+0000 separates runs and U+0001 stands for a letter of code: both pass through untouched.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bookgen.render.languages import Language

_NNBSP = "\u202f"
_NBSP = "\u00a0"
_OPENS_AFTER = " \n\t([{—–-/\u00a0\u202f“‘„‚«»"
_ELLIPSIS = re.compile(r"\.\.\.+|(?:\. ){2}\.")
_RANGE = re.compile(r"(?<=\d)-(?=\d)(?<![\d-]\d-)(?!\d+-)")
_DASHES = re.compile(r"(?<=\S) ?---? ?(?=\S)|(?<= )--(?= )")
_FRENCH_HIGH = re.compile(r"(?<=[^\s\x00:;!?]) ?([;!?]+)(?=\s|\x00|$|[»”)])")
_FRENCH_COLON = re.compile(r"(?<=[^\s\x00:/]) ?(:)(?=\s|\x00|$)")


def polisher(language: Language) -> Callable[[str], str]:
    """The function that sets a paragraph's text in the language's own marks."""

    def polish(text: str) -> str:
        text = _ELLIPSIS.sub("…", text)
        text = _DASHES.sub("—", text)
        if '"' in text or "'" in text:
            text = _quoted(text, language)
        return _french(text) if language.french_spacing else text

    return polish


def _quoted(text: str, language: Language) -> str:
    opening, closing, inner_opening, inner_closing = tuple(language.quotes)
    out: list[str] = []
    previous = " "
    following = text[1:] + " "
    for character, after in zip(text, following, strict=True):
        if character == '"':
            character = opening if previous in _OPENS_AFTER and not after.isspace() else closing
        elif character == "'":
            apostrophe = previous not in _OPENS_AFTER or after.isspace() or after.isdigit()
            character = _single_close(previous, after, inner_closing) if apostrophe else inner_opening
        out.append(character)
        if character != "\x00":
            previous = character
    return "".join(out)


def _single_close(previous: str, after: str, inner_closing: str) -> str:
    """Between letters, and after one where words end so, it is the apostrophe in every language."""
    if inner_closing in "’”" or (previous.isalnum() and after.isalnum()) or after.isdigit():
        return "’"
    return inner_closing if inner_closing not in "»”" else "’"


def _french(text: str) -> str:
    text = _FRENCH_HIGH.sub(rf"{_NNBSP}\1", text)
    text = _FRENCH_COLON.sub(rf"{_NBSP}\1", text)
    text = re.sub(r"« ?", f"«{_NNBSP}", text)
    return re.sub(r" ?(?<!\u202f)»", f"{_NNBSP}»", text)
