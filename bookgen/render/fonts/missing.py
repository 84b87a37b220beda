"""The languages for which this machine has no font, and what to install. Run as a module, it prints their tags.

The service runs it as a process of its own, since it loads no fonts itself.
"""

from __future__ import annotations

from collections.abc import Collection

_CJK = frozenset(("zh", "ja", "ko"))


def to_install(tags: Collection[str]) -> str:
    """The command that installs fonts for these languages on Debian and Ubuntu."""
    packages = ["fonts-noto-cjk"] * bool(_CJK.intersection(tags)) + ["fonts-noto-core"] * bool(set(tags) - _CJK)
    return f"apt install {' '.join(packages)}"


if __name__ == "__main__":
    from bookgen.render.fonts.typeface import without_font

    print(*without_font())
