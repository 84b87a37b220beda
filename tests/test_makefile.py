"""`make` sets up the Python that it looked at, whichever others are about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SET_UP = ["make", "-f", str(ROOT / "Makefile"), ".venv/bin/python"]

pytestmark = pytest.mark.checker("make")


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def set_up(folder: Path) -> subprocess.CompletedProcess[str]:
    # Not the settings of the make that runs the tests.
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "PYTHON")}
    environment["PATH"] = f"{folder}:/usr/bin:/bin"
    return subprocess.run(SET_UP, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_uv_gets_the_path_of_a_recent_enough_python(tmp_path: Path) -> None:
    """By its name uv might take an older one, or fetch one."""
    program(tmp_path / "python3", f'exec "{sys.executable}" "$@"')
    program(tmp_path / "uv", 'printf "%s\\n" "$@"')

    made = set_up(tmp_path)

    assert made.stdout.split() == ["venv", "-q", "--python", sys.executable, ".venv"]


def test_without_a_python_that_is_new_enough_it_says_so(tmp_path: Path) -> None:
    for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11"):
        program(tmp_path / name, "exit 1")
    program(tmp_path / "uv", "echo called")

    made = set_up(tmp_path)

    assert made.returncode != 0
    assert made.stdout == "bookgen needs Python 3.11 or newer; found none.\n"
