"""Detects usernames that can be mistaken for another username, because their letters look like other letters."""

from __future__ import annotations

import unicodedata

# Scripts that are mixed within a language.
TOGETHER = (
    frozenset({"HIRAGANA", "KATAKANA", "CJK", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"}),
    frozenset({"HANGUL", "CJK"}),
    frozenset({"BOPOMOFO", "CJK"}),
)
# Other scripts in everyday use (UAX 31), besides Latin.
IN_USE = frozenset({
    "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI",
    "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "THAI", "LAO", "TIBETAN", "MYANMAR", "ETHIOPIC",
    "KHMER", "THAANA",
})  # fmt: skip
# Latin letters that are not an ASCII letter with a mark.
LATIN = frozenset("ßæœøłđðþŋəħʻʼ")
# Letters that look like an ASCII letter (UTS 39).
LIKE_ASCII = frozenset("абвгезкмнорстухьѕіјѡѵүһҽӏӡԁԍԛԝꙅꙇαβγεζηικμνορςστυχϝϳϻագզհոռստցքօყჿഠဝሀዐଠ")


def misleads(name: str) -> bool:
    """Whether a name mixes alphabets, uses a rare alphabet, or consists only of letters that look like Latin ones."""
    letters = [letter for letter in unicodedata.normalize("NFKC", name).lower() if letter.isalpha()]
    foreign = [letter for letter in letters if not _is_latin(letter)]
    scripts = {_script(letter) for letter in letters}
    if not foreign:
        return False
    if len(scripts) > 1:
        return not any(scripts <= together for together in TOGETHER)
    if scripts.isdisjoint(IN_USE.union(*TOGETHER)):
        return True
    return all(letter in LIKE_ASCII for letter in letters)


def _is_latin(letter: str) -> bool:
    return unicodedata.normalize("NFD", letter)[0].isascii() or letter in LATIN


def _script(letter: str) -> str:
    """The script of the letter: the first word of its Unicode name."""
    return unicodedata.name(letter, "UNKNOWN").split()[0]
