"""Liang's hyphenation patterns, from the dictionaries in the package pyphen.

A pattern is parsed only when a word needs it. A book needs a few thousand patterns; pyphen itself would parse all of
them, which takes longer than laying out a short book.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from bookgen.render.fonts.families import package_folder

_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_PARTS = re.compile(r"(\d?)(\D?)")
_HEXADECIMAL = re.compile(r"\^\^([0-9a-f]{2})")
_ENCODINGS = {"microsoft-cp1251": "cp1251"}

# The value before each letter of a pattern, and whether a break there changes the spelling.
_Values = tuple[tuple[int, ...], bool]


class Patterns:
    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        encoding, _, rest = data.partition(b"\n")
        name = encoding.decode("ascii").strip().lower()
        text = rest.decode(_ENCODINGS.get(name, name))
        if "^^" in text:
            text = _HEXADECIMAL.sub(lambda found: chr(int(found[1], 16)), text)
        lines = [line.strip() for line in text.split("\n")]
        keys = "\n".join(line.partition("/")[0] for line in lines) if "/" in text else "\n".join(lines)
        self._lines = dict(zip(keys.translate(_DIGITS).split("\n"), lines, strict=True))
        self._lines.pop("", None)
        self._longest = max((len(key) for key in self._lines if " " not in key), default=0)
        self._values: dict[str, _Values] = {}

    def positions(self, word: str) -> list[int]:
        """The positions where the word can be hyphenated without changing its spelling."""
        pointed = f".{word.lower()}."
        best = [0] * (len(pointed) + 1)
        changed: set[int] = set()
        for start in range(len(pointed) - 1):
            for end in range(start + 1, min(start + self._longest, len(pointed)) + 1):
                key = pointed[start:end]
                if key not in self._lines:
                    continue
                values, changes = self._values.get(key) or self._parsed(key)
                for at, value in enumerate(values, start):
                    if value > best[at] or (changes and value and value == best[at]):
                        best[at] = value
                        (changed.add if changes else changed.discard)(at)
        return [at - 1 for at, value in enumerate(best) if value % 2 and at not in changed]

    def _parsed(self, key: str) -> _Values:
        pattern, change, _ = self._lines[key].partition("/")
        values = tuple(int(digit or 0) for digit, _ in _PARTS.findall(pattern))
        self._values[key] = values, bool(change)
        return self._values[key]


@cache
def patterns(language: str) -> Patterns | None:
    """The patterns for a BCP 47 tag, or for the same language in another country. None if there is no dictionary."""
    wanted = language.replace("-", "_").lower()
    while wanted:
        if found := _dictionaries().get(wanted):
            return Patterns(found)
        wanted = wanted.rpartition("_")[0]
    return None


@cache
def _dictionaries() -> dict[str, Path]:
    """The dictionary files by language tag, such as "de_at" or "fr".

    If a language has files only for countries, the tag of the language alone gets the first of these files in
    alphabetical order.
    """
    found: dict[str, Path] = {}
    for path in sorted((package_folder("pyphen") / "dictionaries").glob("hyph_*.dic")):
        name = path.stem.removeprefix("hyph_").lower()
        found[name] = path
        found.setdefault(name.split("_")[0], path)
    return found
