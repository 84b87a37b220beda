"""Hyphenation, in the languages that have a dictionary."""

from __future__ import annotations

from bookgen.render.fonts.patterns import patterns

_SHORTEST = 6
_LEFT, _RIGHT = 2, 3
_PUNCTUATION = ".,;:!?…—–“”‘’«»„‚\"'()[]{}*"


class Hyphens:
    """Finds hyphenation points: called with a word, it returns the positions where the word may be divided.

    It returns none in a language without a dictionary.
    """

    def __init__(self, language: str, *, enabled: bool = True) -> None:
        self._patterns = patterns(language) if enabled else None
        self._known: dict[str, tuple[int, ...]] = {}

    def __call__(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._positions(word)
        return known

    def _positions(self, word: str) -> tuple[int, ...]:
        core = word.strip(_PUNCTUATION)
        if self._patterns is None or len(core) < _SHORTEST or not core.isalpha():
            return ()
        start = word.index(core)
        return tuple(start + at for at in self._patterns.positions(core) if _LEFT <= at <= len(core) - _RIGHT)
