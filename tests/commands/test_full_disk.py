"""A start on a full disk: one line that says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.small_disk import on_a_small_disk, possible
from tests.service import environment

MB = 1 << 20
TOO_SMALL = 20 * MB  # enough for a database, but not for its keys


def test_starting_on_a_full_disk_prints_one_line(tmp_path: Path) -> None:
    if not possible(tmp_path):
        pytest.skip("no file system can be mounted here")
    data = tmp_path / "data"
    data.mkdir()
    done = subprocess.run(
        on_a_small_disk(data, TOO_SMALL, [sys.executable, "-m", "bookgen", "serve"]),
        env=environment(tmp_path, BOOKGEN_LOG_LEVEL="info", BOOKGEN_MODEL="offline"),
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"bookgen: The disk of BOOKGEN_DATA_DIR={data} is full: ")
    assert line.endswith("Free some space, then start again.")
