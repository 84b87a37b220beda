"""qpdf reads the whole file without a complaint."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render

pytestmark = pytest.mark.checker("qpdf")

PROFILES = {
    "digital": ExportSettings(),
    "print": ExportSettings(profile="print"),
    "bleed": ExportSettings(profile="print", bleed=True),
}


@pytest.mark.parametrize("settings", PROFILES.values(), ids=PROFILES.keys())
def test_qpdf_reports_no_error(settings: ExportSettings, make: Make, tmp_path: Path) -> None:
    check(render(make("One line.", "Another."), settings).pdf, tmp_path)


def test_qpdf_reports_no_error_in_a_whole_book(rich: Rendered, tmp_path: Path) -> None:
    check(rich.pdf, tmp_path)


def check(pdf: bytes, folder: Path) -> None:
    file = folder / "book.pdf"
    file.write_bytes(pdf)
    done = subprocess.run(["qpdf", "--check", str(file)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
