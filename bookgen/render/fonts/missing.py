"""The languages for which this machine has no font, and what to install.

Run as a module, it prints the tags of these languages. The service runs it as a separate process, because the service
loads no fonts.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from bookgen.errors import InvalidInput

FIRST_UNSURE = "\u0250"  # every letter before it is in the packaged fonts
_CJK = frozenset(("zh", "ja", "ko"))


def to_install(tags: Collection[str]) -> str:
    """The command that installs fonts for these languages on Debian and Ubuntu."""
    packages = ["fonts-noto-cjk"] * bool(_CJK.intersection(tags)) + ["fonts-noto-core"] * bool(set(tags) - _CJK)
    return f"apt install {' '.join(packages)}"


def why_unprintable(text: str, language: str) -> str | None:
    """What is wrong with a title that no font of this machine covers, and what to do. None if it can be printed."""
    if all(character < FIRST_UNSURE for character in text):
        return None
    try:
        _require_fonts(text, language)
    except InvalidInput as error:
        return f"The title cannot be printed in a PDF or on a cover. {error}"
    return None


@lru_cache(maxsize=4096)  # errors are not cached, because a font may be installed later
def _require_fonts(text: str, language: str) -> None:
    from bookgen.render.fonts.typeface import Typeface

    Typeface("serif", language).pieces(text)


if __name__ == "__main__":
    from bookgen.render.fonts.typeface import without_font

    print(*without_font())
