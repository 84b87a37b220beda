"""PDFBox's preflight takes the digital file for PDF/A-1b."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.render.conftest import Make, Rendered, render
from tests.render.test_settings import with_picture

JARS = [
    next(Path("/usr/share/java").glob(f"{name}.jar"), None)
    for name in ("preflight", "pdfbox2", "fontbox2", "xmpbox", "commons-logging", "javax.activation", "jaxb-api")
]
AVAILABLE = ["rich", "pictures", "watermark", "from the right"] if all(JARS) else []


@pytest.mark.parametrize("case", AVAILABLE)
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
