"""Ace by DAISY finds no accessibility problem in the EPUB."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.test_epubcheck import POEMS
from tests.render.test_settings import with_picture
from tests.render.test_spreads import made, picture_book, red_picture

ACE = Path(__file__).with_name("ace.js")


@pytest.mark.checker("Ace", "chromium")
@pytest.mark.timeout(300)
def test_ace_reports_no_assertion(small: Rendered, make: Make, tmp_path: Path) -> None:
    text = with_picture(make("A [link](https://example.org).[^1]\n\n[^1]: A note.", watermark=True))
    books = {
        "rich": small.epub,
        "pictures": render(text, ExportSettings(dedication="For Wren", drop_caps=True)).epub,
        "verse": render(make(POEMS, POEMS, genre="Poetry")).epub,
        "from the right": render(make("كان يا ما كان", language="ar")).epub,
        "fixed layout": made("epub", replace(picture_book(), cover=red_picture()), dedication="For Wren"),
    }

    for book, report in judged(books, tmp_path).items():
        assert report["earl:result"] == {"earl:outcome": "pass"}, book
        assert len(report["assertions"]) >= 4, book
        assert [found for document in report["assertions"] for found in document["assertions"]] == [], book


def judged(books: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """The reports of Ace, made with one browser because starting it takes as long as checking a book."""
    files = [folder / f"{name}.epub" for name in books]
    for file in files:
        file.write_bytes(books[file.stem])
    # It uses the machine's browser and must not download its own.
    environment = os.environ | {"PUPPETEER_EXECUTABLE_PATH": str(shutil.which("chromium"))}
    command = ["node", str(ACE), str(shutil.which("ace-cli")), str(folder), *map(str, files)]
    # On a busy machine the browser may time out, which is not a finding, so it is retried once.
    tries = (subprocess.run(command, env=environment, capture_output=True, check=False) for _ in range(2))
    failed = [run.stderr.decode() for run in takewhile(lambda run: run.returncode != 0, tries)]
    assert len(failed) < 2, failed
    return {name: json.loads((folder / name / "report.json").read_text(encoding="utf-8")) for name in books}
