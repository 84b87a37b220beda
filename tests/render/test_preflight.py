"""PDFBox's preflight takes the digital file for PDF/A-1b."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.checkers import JARS
from tests.render.conftest import Make, Rendered, render
from tests.render.test_settings import with_picture

pytestmark = pytest.mark.checker("Java", "preflight")


@pytest.mark.parametrize("case", ["rich", "pictures", "watermark", "from the right"])
def test_preflight_says_valid(case: str, small: Rendered, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "book.pdf"
    file.write_bytes(pdf(case, small, make))
    classpath = ":".join(map(str, JARS))
    command = ["java", "-cp", classpath, "org.apache.pdfbox.preflight.Validator_A1b", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert "is a valid PDF/A-1b file" in said, said


def pdf(case: str, small: Rendered, make: Make) -> bytes:
    match case:
        case "rich":
            return small.pdf
        case "pictures":
            return render(with_picture(make("A [link](https://example.org)."))).pdf
        case "watermark":
            return render(make("Emoji 😀 and हिन्दी.", watermark=True)).pdf
    return render(make("كان يا ما كان (في) قديم الزمان", language="ar")).pdf
