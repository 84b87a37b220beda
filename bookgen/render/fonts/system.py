"""Fonts installed on the machine, for scripts whose fonts are not part of the package.

These are Chinese, Japanese and Korean, whose fonts are too large, and rare scripts and symbols.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from bookgen.render.fonts.families import Source

# The advice in the error message when no font has a character.
ADVICE = (
    "Remove this character, or export EPUB or Word (reading apps bring their own fonts), or install a font for it on "
    "the server. On Debian and Ubuntu: apt install fonts-noto-core, or fonts-noto-cjk for Chinese, Japanese and Korean."
)

_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "C:/Windows/Fonts",
)

# The index of each language's face in font collections for all of them.
_COLLECTION = {"ja": 0, "ko": 1, "zh": 2, "zh-hant": 3, "zh-tw": 3, "zh-hk": 4}

# Regular and bold file, best first, with serif before sans. True: a collection with one face per language.
_KNOWN = (
    ("NotoSerifCJK-Regular.ttc", "NotoSerifCJK-Bold.ttc", True),
    ("SourceHanSerif-Regular.ttc", "SourceHanSerif-Bold.ttc", True),
    ("SourceHanSerif.ttc", "SourceHanSerif.ttc", True),
    ("NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc", True),
    ("NotoSerifSC-Regular.otf", "NotoSerifSC-Bold.otf", False),
    ("NotoSerifJP-Regular.otf", "NotoSerifJP-Bold.otf", False),
    ("NotoSerifKR-Regular.otf", "NotoSerifKR-Bold.otf", False),
    ("Songti.ttc", "Songti.ttc", False),
    ("AppleMyungjo.ttf", "AppleMyungjo.ttf", False),
    ("simsun.ttc", "simsun.ttc", False),
    ("yumin.ttf", "yumindb.ttf", False),
    ("batang.ttc", "batang.ttc", False),
    ("malgun.ttf", "malgunbd.ttf", False),
    ("DroidSansFallbackFull.ttf", "DroidSansFallbackFull.ttf", False),
)

# File names of the regular faces of families with broad coverage.
_BROAD = re.compile(
    r"(NotoSerif|NotoSans|DejaVuSerif|DejaVuSans|FreeSerif|FreeSans|Arial Unicode|Apple Symbols"
    r"|Nirmala|LeelawUI|Leelawadee|sylfaen|ebrima|gadugi|seguisym|seguihis)"
    r"(?:(?!.*(?:CJK|Mono|Display|Condensed))\w*-Regular|\w*\[[\w,]+\])?\.(?:ttf|otf|ttc)",
    re.I,
)
_RANKS = ("notoserif", "notosans", "dejavuserif", "dejavusans")


def system_sources(language: str) -> tuple[Source, ...]:
    """The fonts installed on the machine, best first. From a font collection, the face for the language is used."""
    found = _found()
    sources = []
    for regular, bold, collection in _KNOWN:
        if regular not in found:
            continue
        index = _COLLECTION.get(language.lower(), _COLLECTION.get(language.split("-")[0].lower(), 2))
        name = regular.partition(".")[0].partition("-")[0]
        sources.append(_source(name, regular, bold, index if collection else 0))
    return (*sources, *_broad())


def look_again() -> None:
    """Forget the fonts found, so that a font installed since then is found without a restart."""
    _found.cache_clear()
    _broad.cache_clear()


@cache
def _broad() -> tuple[Source, ...]:
    sources = []
    known = {regular for regular, _, _ in _KNOWN}
    for regular in sorted((name for name in _found() if name not in known), key=_rank):
        stem, _, ending = regular.rpartition(".")
        sources.append(_source(stem, regular, f"{stem.removesuffix('-Regular')}-Bold.{ending}"))
    return tuple(sources)


def _source(name: str, regular: str, bold: str, index: int = 0) -> Source:
    """The source of an installed font. If there is no bold file, the regular one is used for bold."""
    folder = _found()[regular].parent
    bold = bold if (folder / bold).exists() else regular
    return Source(name, regular, regular, bold, bold, folder=folder, variable=False, index=index)


def _rank(name: str) -> tuple[int, str]:
    lower = name.lower()
    return next((place for place, family in enumerate(_RANKS) if lower.startswith(family)), len(_RANKS)), name


@cache
def _found() -> dict[str, Path]:
    wanted = {regular for regular, _, _ in _KNOWN}
    found: dict[str, Path] = {}
    for name in _FOLDERS:
        for folder, _, files in os.walk(Path(name).expanduser()):
            for file in files:
                if file in wanted or _BROAD.fullmatch(file):
                    found.setdefault(file, Path(folder) / file)
    return found
