"""The file as the programs see it that most readers are made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.render.conftest import Rendered


@pytest.fixture(scope="session")
def file(rich: Rendered, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("poppler") / "book.pdf"
    path.write_bytes(rich.pdf)
    return path


def test_every_font_is_embedded_subset_and_mapped(file: Path) -> None:
    rows = run("pdffonts", str(file)).splitlines()[2:]

    assert rows
    assert all(row.split()[-5:-2] == ["yes", "yes", "yes"] for row in rows)
    assert "Helvetica" not in "".join(rows)


def test_the_pages_have_the_trim_and_are_tagged(file: Path) -> None:
    info = run("pdfinfo", str(file))

    assert "432 x 648 pts" in info
    assert "Tagged:          yes" in info


def test_a_paragraph_reads_as_one_text(file: Path, rich: Rendered) -> None:
    said = run("pdftotext", "-raw", str(file), "-").replace("\u00ad\n", "").replace("\u00ad", "")
    words = " ".join(said.split())
    block = rich.manuscript.chapters[4].blocks[0]

    assert " ".join("".join(run.text for run in block.runs).split()[:60]) in words  # type: ignore[union-attr]


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
