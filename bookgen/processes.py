"""What a process that works for the service inherits of its environment."""

from __future__ import annotations

import os
from pathlib import Path

# Where programs, libraries and files for a moment are, and in which language. No secret.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")


def clean_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {"PYTHONPATH": _search_path()}


def _search_path() -> str:
    """The process finds the package wherever this one has found it."""
    own = str(Path(__file__).parents[1])
    return os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])
