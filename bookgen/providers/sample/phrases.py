"""The phrase lists of a language, loaded once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "phrases"
FALLBACK = "en"


def language_of(tag: str) -> str:
    """Return the language whose phrases are used for a BCP 47 tag: the tag's own or, if it has no phrases, English."""
    primary = tag.partition("-")[0].lower()
    return primary if (FOLDER / f"{primary}.toml").is_file() else FALLBACK


@cache
def phrases(language: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
