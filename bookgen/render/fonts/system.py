"""Fonts for Chinese, Japanese and Korean: too large to carry, so taken from the machine if it has them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from bookgen.render.fonts.families import Source

# What to tell somebody whose machine has none.
ADVICE = "Install a font that has it, for Chinese, Japanese and Korean for example: apt install fonts-noto-cjk"

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

# The face of each language in the collections that hold them all.
_COLLECTION = {"ja": 0, "ko": 1, "zh": 2, "zh-hant": 3, "zh-tw": 3, "zh-hk": 4}

# Regular and bold file, best first; a serif before a sans. True: a collection by language.
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


def system_sources(language: str) -> tuple[Source, ...]:
    """The machine's fonts for these scripts, as the language writes its characters."""
    found = _found()
    sources = []
    for regular, bold, collection in _KNOWN:
        if regular not in found:
            continue
        folder = found[regular].parent
        bold = bold if (folder / bold).exists() else regular
        index = _COLLECTION.get(language.lower(), _COLLECTION.get(language.split("-")[0].lower(), 2))
        name = regular.partition(".")[0].partition("-")[0]
        sources.append(
            Source(name, regular, regular, bold, bold, folder=folder, variable=False, index=index if collection else 0)
        )
    return tuple(sources)


@cache
def _found() -> dict[str, Path]:
    wanted = {regular for regular, _, _ in _KNOWN}
    found: dict[str, Path] = {}
    for name in _FOLDERS:
        for folder, _, files in os.walk(Path(name).expanduser()):
            for file in wanted.intersection(files):
                found.setdefault(file, Path(folder) / file)
    return found
