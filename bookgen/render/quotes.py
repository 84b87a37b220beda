"""Converts straight quotes to the quotation marks, apostrophes and primes of a language.

What a straight mark becomes depends on the characters next to it, then on open quotations, then on the following text.
U+0000 separates spans and U+0001 stands for a letter of code; neither influences the choice.
"""

from __future__ import annotations

import re

from bookgen.render.locales import Locale

APOSTROPHE, PRIME, DOUBLE_PRIME = "’", "′", "″"
_SPACES = " \n\t\u00a0\u202f"
_OPENERS = _SPACES + "([{“‘„‚«»"
_DASHES = "–—-/"
_CLOSING = ",.;:!?…)]}"
_DIGITS = "0123456789½¼¾⅓⅔⅛⅜⅝⅞"
_TYPED = re.compile("[\"']")
_DECADE = re.compile(r"\d\ds?\b(?!\d)")  # '90s
_THOUSANDS = re.compile(r"\d{3}(?!\d)")  # 1'000, as the Swiss write it
_BY = re.compile(r"[x×] ?\d")  # 8'x10'
_INCHES = re.compile(rf"[ -]?\d+[{_DIGITS}./]*\"")  # 5' 11"
_CLOSES_SINGLE = re.compile(r"(?<=[^\s])'(?!\w)")
_AFTER_DIGIT = re.compile(rf"(?<=[{_DIGITS}])\"")
_AFTER_OTHER = re.compile(rf"(?<![{_DIGITS}])\"")
_NOT_QUOTED = r"\b(?!'(?!\w))"  # 'cause, but not 'cause'
# Words that begin with an apostrophe.
_ELIDED = {
    "en": r"n\b|(?:tis|tisn|twas|twasn|twere|twill|twould|tain|til|till|em|cause|cos|cuz|bout|round|neath|gainst|twixt|"
    r"tween|fore|nother|nuff|cept|scuse|spose|spect|specially|stead|fraid|kay|bye|e|im|imself|ere|ello|ave|ad|ome|"
    r"ouse|orse|ead|eard|alf|undred|appen\w*|"
    r"(?-i:(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y-\w+|ies)))",  # a year; a capital begins a quotation
    "de": r"(?:s|ne|nen|nem|ner|nes|n|rein|raus|rauf|runter|rum|ran|rüber|nauf|naus|tschuldigung|türlich)",
    "nl": r"(?:s|t|n|k|m|r|ns|tis|twas)",
}
_ELIDED_IN = {code: re.compile(words + _NOT_QUOTED, re.I) for code, words in _ELIDED.items()}


class _Ahead:
    """Finds the next match of a pattern after a place in the text.

    Each call must ask for a later place than the call before, so that the text is searched only once.
    """

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._next = -1

    def of(self, place: int) -> int:
        """The index of the next match after `place`, or the text's length if there is none."""
        if self._next <= place:
            found = self._pattern.search(self._text, place + 1)
            self._next = found.start() if found else len(self._text)
        return self._next


class _Quotes:
    """Converts one paragraph. `_outer` and `_inner` count the open double and the open single quotation marks."""

    def __init__(self, text: str, language: Locale) -> None:
        self._text = text
        self._language = language
        self._elided = _ELIDED_IN.get(language.code)
        self._outer = self._inner = 0
        self._typeset = self._seen = 0
        self._start = len(text) - len(text.lstrip())
        self._double_after_digit = _Ahead(_AFTER_DIGIT, text)
        self._double_after_other = _Ahead(_AFTER_OTHER, text)
        self._closes_single = _Ahead(_CLOSES_SINGLE, text)

    def set(self) -> str:
        out: list[str] = []
        text, at, previous = self._text, 0, " "
        for found in _TYPED.finditer(text):
            place = found.start()
            between = text[at:place]
            previous = between.rstrip("\x00")[-1:] or previous
            after = text[place + 1 : place + 2] or " "
            if found[0] == '"':
                previous = self._double(place, previous, after)
            elif previous.isalpha() and after.isalpha():
                previous = APOSTROPHE
            else:
                previous = self._single(place, previous, after)
            out += (between, previous)
            at = place + 1
        return "".join(out) + text[at:]

    def _double(self, place: int, previous: str, after: str) -> str:
        if previous in _DIGITS and self._is_double_prime(place):
            return DOUBLE_PRIME
        opens = _opens(previous, after, is_open=self._outer > 0)
        if self._is_unspaced(previous):
            opens = not self._outer
        self._outer = int(opens)
        return self._language.quotes[0 if opens else 1]

    def _is_double_prime(self, place: int) -> bool:
        """Whether a double mark after a digit means inches (a double prime) and does not end a quotation.

        Within an open quotation, this is so if a later mark can end the quotation.
        """
        if not self._outer:
            return not self._is_open_typeset(place)
        other = self._double_after_other.of(place)
        if other < len(self._text) and not self._opens_nested(other):
            return True
        return self._double_after_digit.of(place) < other

    def _opens_nested(self, place: int) -> bool:
        """Whether the double mark at `place` opens a quotation within an open one."""
        after = self._text[place + 1 : place + 2] or " "
        return _opens(self._text[place - 1], after, is_open=True)

    def _is_open_typeset(self, place: int) -> bool:
        """Whether a quotation that began with a typographic mark is still open at `place`."""
        opening, closing = self._language.quotes[0], self._language.quotes[1]
        if opening != closing:
            between = self._text[self._seen : place]
            self._typeset += between.count(opening) - between.count(closing)
            self._seen = place
        return self._typeset > 0

    def _single(self, place: int, previous: str, after: str) -> str:
        if previous in _DIGITS and self._is_prime(place, after):
            return PRIME
        opens = _opens(previous, after, is_open=self._inner > 0)
        if self._is_unspaced(previous):
            opens = not self._inner
        if opens and not self._is_leading_apostrophe(place):
            self._inner += 1
            return self._language.quotes[2]
        if self._inner and not opens and not after.isalnum() and not self._text.endswith("'n", 0, place):
            self._inner -= 1
            return self._language.quotes[3]
        return APOSTROPHE

    def _is_prime(self, place: int, after: str) -> bool:
        """Whether a mark after a digit is a prime (feet, minutes), not an apostrophe as in 1990's or 1'000."""
        if after.isdigit():
            return not _THOUSANDS.match(self._text, place + 1)
        if after.isalnum():
            return _BY.match(self._text, place + 1) is not None
        return not self._inner or _INCHES.match(self._text, place + 1) is not None

    def _is_leading_apostrophe(self, place: int) -> bool:
        """Whether a single mark before a word is an apostrophe, as in 'tis, although it could open a quotation.

        A mark is also an apostrophe if no later mark closes it. There is one exception: outside double quotation marks,
        a mark at the paragraph's start or after a comma or colon opens speech that may end in a later paragraph.
        """
        text = self._text
        if _DECADE.match(text, place + 1) or (self._elided and self._elided.match(text, place + 1)):
            return True
        if self._language.unspaced:
            return False
        end = len(text)
        if self._outer and not self._opens_nested(double := self._double_after_other.of(place)):
            end = double  # a quotation within speech ends before the speech does
        if self._closes_single.of(place) < end:
            return False
        speech_goes_on = place <= self._start or text[max(0, place - 3) : place].rstrip().endswith((",", ":"))
        return bool(self._outer) or not speech_goes_on

    def _is_unspaced(self, previous: str) -> bool:
        return self._language.unspaced and not (previous.isascii() and previous.isalnum())


def _opens(previous: str, after: str, *, is_open: bool) -> bool:
    """Whether a mark between two characters opens a quotation. `is_open`: the mark could also close a quotation."""
    if after.isspace():
        return previous in _OPENERS and not is_open
    if previous in _OPENERS:
        return not (is_open and after in _CLOSING)
    if previous in _DASHES:
        return not is_open
    return previous == APOSTROPHE and after.isalnum() and not is_open  # l'"Inferno"


def quoted(text: str, language: Locale) -> str:
    """The text with the quotation marks of its language."""
    return _Quotes(text, language).set()
