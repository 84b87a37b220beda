"""LibreOffice opens the document and shows the manuscript's words on pages of the trim size."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pikepdf
import pypdfium2
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


def test_libreoffice_shows_the_manuscript_word_for_word(folder: Path, small: Rendered) -> None:
    """Its plain text has the numbers of notes but not their text. List markers and scene breaks are its own."""
    bare = replace(small.manuscript, chapters=tuple(replace(each, notes=()) for each in small.manuscript.chapters))
    wanted = plain(" ".join(manuscript_words(bare, signs=False)))
    text = (folder / "book.txt").read_text(encoding="utf-8-sig")
    said = plain(re.sub(r"^Chapter \d+$", "", text, flags=re.MULTILINE))

    assert said[-len(wanted) :] == wanted


def plain(text: str) -> list[str]:
    return [NOTE.sub("", word) for word in text.split() if not LIST_MARK.fullmatch(word)]


def test_libreoffice_shows_pages_of_the_trim_size(folder: Path) -> None:
    with pikepdf.open(folder / "book.pdf") as pdf:
        assert {tuple(round(float(side)) for side in page.mediabox) for page in pdf.pages} == {(0, 0, 432, 648)}


def test_libreoffice_uses_the_embedded_fonts(folder: Path) -> None:
    with pikepdf.open(folder / "book.pdf") as pdf:
        fonts = {str(font.BaseFont) for page in pdf.pages for font in page.Resources.get("/Font", {}).values()}

    assert {"Roman-Regular", "Italic-Italic"} <= {name.partition("SourceSerif4")[2] for name in fonts}


def test_the_table_of_contents_has_libreoffices_own_page_numbers(folder: Path, small: Rendered) -> None:
    pages = lines(folder)
    (contents,) = [page for page in pages if page[0] == "Contents"]
    for chapter in small.manuscript.chapters:
        (entry,) = [line for line in contents if re.match(rf"\d+\s+{re.escape(chapter.title)}", line)]
        (opener,) = [page for page in pages if chapter.title in page[:3] and opens(page)]
        assert entry.split(".")[-1].split()[-1] == opener[-1], chapter.title


def test_a_running_head_is_on_every_page_except_chapter_openings(folder: Path, small: Rendered) -> None:
    titles = [chapter.title for chapter in small.manuscript.chapters]
    pages = lines(folder)
    first = next(number for number, page in enumerate(pages) if opens(page))
    for page in pages[first:]:
        assert opens(page) or page[0] in (small.manuscript.title, *titles), page[:2]


def opens(page: list[str]) -> bool:
    """Whether a chapter begins on the page. The letters of its number are spaced."""
    return page[0].replace(" ", "").startswith("CHAPTER")


def lines(folder: Path) -> list[list[str]]:
    """The non-empty lines of each page from top to bottom."""
    with pypdfium2.PdfDocument(folder / "book.pdf") as pdf:
        texts = [page.get_textpage().get_text_bounded() for page in pdf]
    return [[line.strip() for line in text.splitlines() if line.strip()] for text in texts]
