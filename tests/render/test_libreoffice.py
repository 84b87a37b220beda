"""LibreOffice opens the document, with the manuscript's words on pages of the trim."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest

from tests.render.conftest import Rendered
from tests.render.reading import manuscript_words

pytestmark = pytest.mark.checker("LibreOffice")

NOTE = re.compile(r"(?<=[.!?”,])\d+$")
LIST_MARK = re.compile(r"[•*]|\d\.")


@pytest.fixture(scope="session")
def folder(small: Rendered, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office")
    (folder / "book.docx").write_bytes(small.docx)
    for kind in ("txt:Text (encoded):UTF8", "pdf"):
        command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", kind]
        subprocess.run([*command, "--outdir", str(folder), str(folder / "book.docx")], check=True, capture_output=True)
    return folder


def test_its_text_is_the_manuscript_word_for_word(folder: Path, small: Rendered) -> None:
    """Its plain text has the notes' numbers but not the notes; list marks and scene breaks are its own."""
    bare = replace(small.manuscript, chapters=tuple(replace(each, notes=()) for each in small.manuscript.chapters))
    wanted = plain(" ".join(manuscript_words(bare, signs=False)))
    text = (folder / "book.txt").read_text(encoding="utf-8-sig")
    said = plain(re.sub(r"^Chapter \d+$", "", text, flags=re.MULTILINE))

    assert said[-len(wanted) :] == wanted


def plain(text: str) -> list[str]:
    return [NOTE.sub("", word) for word in text.split() if not LIST_MARK.fullmatch(word)]


def test_its_pages_have_the_trim(folder: Path) -> None:
    with pikepdf.open(folder / "book.pdf") as pdf:
        assert {tuple(round(float(side)) for side in page.mediabox) for page in pdf.pages} == {(0, 0, 432, 648)}
