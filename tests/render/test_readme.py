"""The table of checks in the README names existing tests."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_check_in_the_readme_names_existing_tests() -> None:
    rows = re.findall(r"^\| (\d+) \|.*$", (HERE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (HERE / "README.md").read_text(encoding="utf-8"))

    assert [int(row) for row in rows] == list(range(1, 24))
    assert [
        f"{file}::{name}"
        for file, name in named
        if not re.search(rf"^(async )?def {name}\(", (HERE / file).read_text(encoding="utf-8"), re.MULTILINE)
    ] == []
