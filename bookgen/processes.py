"""Processes that work for the service: what they inherit of its environment, and that they give way to it."""

from __future__ import annotations

import os
import time
from pathlib import Path

# Where programs, libraries and files for a moment are, and in which language. No secret.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
STEPS_BACK = 5


def clean_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | {"PYTHONPATH": _search_path()}


def _search_path() -> str:
    """The process finds the package wherever this one has found it."""
    own = str(Path(__file__).parents[1])
    return os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])])


def step_back() -> None:
    """Makes this process give way to the service: where the machine is busy, who answers comes first.

    On Linux a session of its own may have a share of its own, which no niceness of a process changes.
    """
    if hasattr(os, "nice"):
        os.nice(STEPS_BACK)
    for _ in range(10):
        try:
            Path("/proc/self/autogroup").write_text(str(STEPS_BACK))
        except BlockingIOError:  # another process has just done it
            time.sleep(0.1)
        except OSError:  # there are no such shares here
            return
        else:
            return
