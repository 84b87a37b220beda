"""PDFBox's preflight, which knows only PDF/A-1, reports nothing that PDF/A-2 forbids too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.checkers import JARS
from tests.render.conftest import Make, Rendered, render
from tests.render.test_epubcheck import POEMS
from tests.render.test_marks import signed_picture
from tests.render.test_settings import with_picture

pytestmark = pytest.mark.checker("Java", "preflight")

# Rules that PDF/A-2 dropped, and the version number.
NEWER = ("The CIDSet entry is missing", "part must be 1", "conformance level must be B")


@pytest.mark.parametrize("case", ["rich", "pictures", "signed pictures", "watermark", "verse", "from the right"])
def test_preflight_reports_only_that_the_standard_is_newer(
    case: str, small: Rendered, make: Make, tmp_path: Path
) -> None:
    file = tmp_path / "book.pdf"
    file.write_bytes(pdf(case, small, make))
    classpath = ":".join(map(str, JARS))
    command = ["java", "-cp", classpath, "org.apache.pdfbox.preflight.Validator_A1b", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout

    _, *found = [line for line in said.splitlines() if line.strip()]

    assert found
    assert [line for line in found if not any(newer in line for newer in NEWER)] == []


def pdf(case: str, small: Rendered, make: Make) -> bytes:
    match case:
        case "rich":
            return small.pdf
        case "pictures":
            return render(with_picture(make("A [link](https://example.org)."))).pdf
        case "signed pictures":
            return render(with_picture(make("A line."), signed_picture())).pdf
        case "watermark":
            return render(make("Emoji 😀 and हिन्दी.", watermark=True)).pdf
        case "verse":
            return render(make(POEMS, POEMS, genre="Poetry")).pdf
    return render(make("كان يا ما كان (في) قديم الزمان", language="ar")).pdf
