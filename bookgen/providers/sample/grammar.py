"""Makes sentences from templates. `{slot}` becomes a word of the scene or a phrase from a list; `{a|b}` picks one."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Mapping, Sequence

_SLOT = re.compile(r"\{([^{}]*)\}")
_FIRST_LETTER = re.compile(r"[^\W\d_]")
_DEEPEST = 6  # rounds of filling, since a phrase may have slots of its own


class Grammar:
    """Fills templates, and avoids phrases that were used recently.

    A phrase counts as used only when its sentence is accepted by `keep`, so that rejected sentences do not use up the
    lists.
    """

    def __init__(self, slots: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        self._slots = slots
        self._rng = rng
        self._recent: dict[str, deque[str]] = {}
        self._picked: list[tuple[str, str, int]] = []

    def begin(self) -> None:
        """Start a new try. Forget the choices of the previous try, unless `keep` has accepted it."""
        self._picked = []

    def sentence(self, role: str, templates: Sequence[str], words: Mapping[str, str]) -> str:
        """Fill one of `templates` and return it, starting with a capital letter.

        `role`: the name of this list of templates. `words`: the values of slots that do not stand for a list of
        phrases.
        """
        text = self._pick(f"template {role}", templates)
        for _ in range(_DEEPEST):
            filled = _SLOT.sub(lambda slot: self._value(slot[1], words), text)
            if filled == text:
                break
            text = filled
        return _FIRST_LETTER.sub(lambda letter: letter[0].upper(), text, count=1)

    def keep(self) -> None:
        """Accept the current try, and avoid its phrases for a while."""
        for name, value, size in self._picked:
            self._recent.setdefault(name, deque(maxlen=size // 2)).append(value)

    @property
    def picked(self) -> list[tuple[str, str]]:
        """The phrases chosen in the current try, each with the name of its list."""
        return [(name, value) for name, value, _ in self._picked]

    def _pick(self, name: str, among: Sequence[str]) -> str:
        resting = {*self._recent.get(name, ()), *(value for list_, value, _ in self._picked if list_ == name)}
        rested = [value for value in among if value not in resting]
        value = self._rng.choice(rested or among)
        self._picked.append((name, value, len(among)))
        return value

    def _value(self, slot: str, words: Mapping[str, str]) -> str:
        if "|" in slot:
            return self._rng.choice(slot.split("|"))
        if slot in words:
            return words[slot]
        # A number at the end asks for another value of the same list: {detail2} beside {detail}.
        name = slot if slot in self._slots else slot.rstrip("0123456789")
        if name in words:
            return words[name]
        if name in self._slots:
            return self._pick(name, self._slots[name])
        return slot
