"""The PDF as poppler sees it, which most readers on Linux use."""

from __future__ import annotations

import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.render.conftest import Make, Rendered, render
from tests.render.test_scripts import FROM_THE_RIGHT, letters

pytestmark = pytest.mark.checker("poppler")


@pytest.fixture(scope="session")
def file(rich: Rendered, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("poppler") / "book.pdf"
    path.write_bytes(rich.pdf)
    return path


def test_every_font_is_embedded_as_a_subset_and_mapped_to_text(file: Path) -> None:
    rows = run("pdffonts", str(file)).splitlines()[2:]

    assert rows
    assert all(row.split()[-5:-2] == ["yes", "yes", "yes"] for row in rows)
    assert "Helvetica" not in "".join(rows)


def test_the_pages_have_the_trim_size_and_are_tagged(file: Path) -> None:
    info = run("pdfinfo", str(file))

    assert "432 x 648 pts" in info
    assert "Tagged:          yes" in info


def test_a_paragraph_is_extracted_as_one_text(file: Path, rich: Rendered) -> None:
    said = run("pdftotext", "-raw", str(file), "-").replace("\u00ad\n", "").replace("\u00ad", "")
    words = " ".join(said.split())
    block = rich.manuscript.chapters[4].blocks[0]

    assert " ".join("".join(span.text for span in block.spans).split()[:60]) in words  # type: ignore[union-attr]


@pytest.mark.parametrize("language", FROM_THE_RIGHT)
def test_right_to_left_text_is_extracted_letter_for_letter(language: str, make: Make, tmp_path: Path) -> None:
    """Poppler restores the reading order. Where Amiri's letters overlap, it may insert a space."""
    sample = " ".join([FROM_THE_RIGHT[language]] * 12)
    file = tmp_path / "book.pdf"
    file.write_bytes(render(make(("1", sample), language=language)).pdf)
    said = run("pdftotext", str(file), "-")

    assert letters(sample) in letters(said)


def test_hebrew_is_extracted_word_for_word(make: Make, tmp_path: Path) -> None:
    sample = " ".join([FROM_THE_RIGHT["he"]] * 12)
    file = tmp_path / "book.pdf"
    file.write_bytes(render(make(("1", sample), language="he")).pdf)
    said = "".join(each for each in run("pdftotext", str(file), "-") if unicodedata.category(each) != "Cf")

    assert sample in " ".join(said.split())


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
