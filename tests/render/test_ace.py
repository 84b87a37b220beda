"""Ace by DAISY finds no barrier in the EPUB."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.test_settings import with_picture

pytestmark = pytest.mark.checker("Ace", "chromium")


@pytest.fixture(params=["rich", "pictures", "from the right"])
def epub(request: pytest.FixtureRequest, small: Rendered, make: Make) -> bytes:
    match request.param:
        case "rich":
            return small.epub
        case "pictures":
            text = with_picture(make("A [link](https://example.org).[^1]\n\n[^1]: A note.", watermark=True))
            return render(text, ExportSettings(dedication="For Wren", drop_caps=True)).epub
    return render(make("كان يا ما كان", language="ar")).epub


def test_ace_passes_without_an_assertion(epub: bytes, tmp_path: Path) -> None:
    file = tmp_path / "book.epub"
    file.write_bytes(epub)
    # Its own download of a browser is not wanted: the machine's is used.
    environment = os.environ | {"PUPPETEER_EXECUTABLE_PATH": str(shutil.which("chromium"))}
    command = ["ace-cli", "--silent", "--outdir", str(tmp_path / "report"), str(file)]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))

    assert report["earl:result"] == {"earl:outcome": "pass"}
    assert len(report["assertions"]) >= 4
    assert [found for document in report["assertions"] for found in document["assertions"]] == []
