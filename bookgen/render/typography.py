"""Typewriter marks -> printer's marks, as the language wants them. Never adds or removes a word.

U+0000 separates spans and U+0001 stands for a letter of code: both pass through untouched.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bookgen.render.languages import Locale

_NNBSP = "\u202f"
_NBSP = "\u00a0"
_OPENS_AFTER = " \n\t([{—–-/\u00a0\u202f“‘„‚«»"
_TYPED = re.compile("[\"']")
_ELLIPSIS = re.compile(r"\.\.\.+|(?:\. ){2}\.")
_DASHES = re.compile(r"(?<=[^\s-])(?: ---? |---? ?)(?=[^\s-])")  # not the two before an option: " --help"
_ELIDED = re.compile(r"(?:tis|twas|twere|twill|twould|til|em|cause|bout|n)\b", re.I)  # what "'" stands before
_GERSHAYIM = re.compile('(?<=[א-ת])"(?=[א-ת](?![א-ת]))')  # before the last letter of an abbreviation
_GERESH = re.compile("(?<=[א-ת])'(?=[א-ת])")
_FRENCH_HIGH = re.compile(r"(?<=[^\s\x00:;!?]) ?([;!?]+)(?=\s|\x00|$|[»”)])")
_FRENCH_COLON = re.compile(r"(?<=[^\s\x00:/]) ?(:)(?=\s|\x00|$)")


def polisher(language: Locale) -> Callable[[str], str]:
    """The function that sets a paragraph's text in the language's own marks."""

    def polish(text: str) -> str:
        if ".." in text or ". ." in text:
            text = _ELLIPSIS.sub("…", text)
        if "--" in text:
            text = _DASHES.sub(language.dash, text)
        if '"' in text or "'" in text:
            if language.code == "he":
                text = _GERESH.sub("׳", _GERSHAYIM.sub("״", text))
            text = _quoted(text, language)
        return _french(text) if language.french_spacing else text

    return polish


def _quoted(text: str, language: Locale) -> str:
    opening, closing, inner_opening, inner_closing = tuple(language.quotes)
    out: list[str] = []
    previous = " "
    at = inner = outer = 0  # `inner`, `outer`: quotation marks that are open
    for found in _TYPED.finditer(text):
        place = found.start()
        between = text[at:place]
        previous = between.rstrip("\x00")[-1:] or previous
        after = text[place + 1 : place + 2] or " "
        opens = previous in _OPENS_AFTER and not after.isspace()
        if language.unspaced and not (previous.isascii() and previous.isalnum()):
            opens = not (outer if found[0] == '"' else inner)
        if found[0] == '"':
            previous = opening if opens else closing
            outer = int(opens)
        elif opens and not after.isdigit() and not (language.code == "en" and _ELIDED.match(text, place + 1)):
            previous = inner_opening
            inner += 1
        elif inner and not after.isalnum():
            previous = inner_closing
            inner -= 1
        else:
            previous = "’"
        out += (between, previous)
        at = place + 1
    return "".join(out) + text[at:]


def _french(text: str) -> str:
    text = _FRENCH_HIGH.sub(rf"{_NNBSP}\1", text)
    text = _FRENCH_COLON.sub(rf"{_NBSP}\1", text)
    text = re.sub(r"« ?", f"«{_NNBSP}", text)
    return re.sub(r" ?(?<!\u202f)»", f"{_NNBSP}»", text)
