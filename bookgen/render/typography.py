"""Converts typewriter punctuation to typographic punctuation, by language. It never adds or removes a word.

U+0000 separates spans and U+0001 stands for a letter of code; both are left unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bookgen.render.locales import Locale
from bookgen.render.quotes import quoted

_NNBSP = "\u202f"
_NBSP = "\u00a0"
_ELLIPSIS = re.compile(r"\.\.\.+|(?:\. ){2}\.")
_DASHES = re.compile(r"(?<=[^\s-])(?: ---? |---? ?)(?=[^\s-]|\Z)")  # not the two before an option: " --help"
_GERSHAYIM = re.compile('(?<=[א-ת])"(?=[א-ת](?![א-ת]))')  # before the last letter of an abbreviation
_GERESH = re.compile("(?<=[א-ת])'(?=[א-ת])")
_FRENCH_HIGH = re.compile(r"(?<=[^\s\x00:;!?]) ?([;!?]+)(?=\s|\x00|$|[»”)])")
_FRENCH_COLON = re.compile(r"(?<=[^\s\x00:/]) ?(:)(?=\s|\x00|$)")
# A number and its unit stay on one line.
_UNIT = re.compile(
    r"(?<=[\d½¼¾⅓⅔⅛]) (?=(?:[mcdk]?m[²³]?|[mkµμ]?g|t|[mcd]?l|[mk]?[VWA]|[kM]?Wh|k?J|[kh]?Pa|psi|[kMG]?Hz|[kMGT]?B"
    r"|k?cal|°[CF]?|%|Ω|h|min|m?s|sec|rpm|ft|in\.|yd|mph|lbs?|oz|cwt|tsp|tbsp|pt|qt)(?!\w))"
)
_EQUALS = re.compile(r"(?<==) (?=[−-]?\d)")
# One capital may also end a sentence, as in "vitamin C. The": nothing tells it from an initial.
_INITIALS = re.compile(r"(?<!\w)(?:[^\W\d_]\. )+(?=([^\W\d_]))")
_MAX_INITIALS = 3  # more are a list, which is divided like any text
_TIMES = re.compile(r"(?<=\d) × (?=\d)")


def polisher(language: Locale) -> Callable[[str], str]:
    """A function that converts the punctuation of a paragraph to that of the language."""

    def polish(text: str) -> str:
        if ".." in text or ". ." in text:
            text = _ELLIPSIS.sub("…", text)
        if "--" in text:
            text = _DASHES.sub(lambda found: _dash(found, language.dash), text)
        text = _TIMES.sub(f"{_NBSP}×{_NBSP}", _UNIT.sub(_NBSP, text))
        if "= " in text:
            text = _EQUALS.sub(_NBSP, text)
        if ". " in text:
            text = _INITIALS.sub(_with_no_break_spaces, text)
        if '"' in text or "'" in text:
            if language.code == "he":
                text = _GERESH.sub("׳", _GERSHAYIM.sub("״", text))
            text = quoted(text, language)
        return _french(text) if language.french_spacing else text

    return polish


def _with_no_break_spaces(found: re.Match[str]) -> str:
    """The matched text with no-break spaces if it is a name's initials, as in "J. R. R. Tolkien"; else as it is."""
    is_name = found[0].isupper() and found[1].isupper() and len(found[0].split()) <= _MAX_INITIALS
    return found[0].replace(" ", _NBSP) if is_name else found[0]


def _dash(found: re.Match[str], dash: str) -> str:
    """The dash that replaces the matched hyphens. At the end of interrupted speech, no space follows it."""
    breaks_off = not found[0].endswith(" ") and found.string[found.end() : found.end() + 1] in ("", '"', "'", "\n")
    return dash.rstrip() if breaks_off else dash


def _french(text: str) -> str:
    text = _FRENCH_HIGH.sub(rf"{_NNBSP}\1", text)
    text = _FRENCH_COLON.sub(rf"{_NBSP}\1", text)
    text = re.sub(rf"«[ {_NBSP}{_NNBSP}]?", f"«{_NNBSP}", text)
    return re.sub(rf"[ {_NBSP}{_NNBSP}]?»", f"{_NNBSP}»", text)
