"""`bookgen verify` prints the mark of a file and ends with an exit code for scripts."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest

from bookgen.commands.cli import main
from bookgen.models import SourceType
from bookgen.render.marks.jpeg import with_mark
from bookgen.render.model import Manuscript
from bookgen.render.settings import ExportSettings
from tests.render.conftest import make_manuscript, render
from tests.render.test_marks import signed_picture
from tests.render.test_settings import red_picture, with_picture

PLACES = {"pdf": "XMP", "epub": "package metadata", "docx": "document properties"}


def book(source: SourceType | None = SourceType.MODEL) -> Manuscript:
    return replace(make_manuscript("A line."), source=source)


def verified(file: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Returns the exit code and the output."""
    path = folder / "file"
    path.write_bytes(file)
    code = main(["verify", str(path)])
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize("kind", PLACES)
def test_verify_reads_the_mark_of_each_format(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked: bytes = getattr(render(book()), kind)
    bare: bytes = getattr(render(book(None)), kind)

    assert verified(marked, tmp_path, capsys) == (
        0,
        f"{PLACES[kind]}: trainedAlgorithmicMedia (a generative model made it)\n",
    )
    assert verified(bare, tmp_path, capsys) == (1, "This file has no mark of AI origin.\n")


def test_verify_reads_the_mark_of_a_print_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = render(book(SourceType.PARTLY_MODEL), ExportSettings(profile="print")).pdf

    code, said = verified(file, tmp_path, capsys)

    assert (code, said.partition(" (")[0]) == (0, "document information: compositeWithTrainedAlgorithmicMedia")


def test_verify_reads_the_mark_of_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = verified(with_mark(red_picture(), SourceType.DRAWN).data, tmp_path, capsys)

    assert (code, said.partition(" (")[0]) == (0, "XMP: algorithmicMedia")
    assert verified(red_picture().data, tmp_path, capsys)[0] == 1


def test_the_mark_of_a_picture_does_not_count_as_the_mark_of_the_pdf(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = with_picture(book(None))
    picture = with_mark(red_picture(), SourceType.DRAWN)
    first = text.chapters[0]
    blocks = tuple(replace(each, picture=picture) if hasattr(each, "picture") else each for each in first.blocks)
    text = replace(text, cover=picture, chapters=(replace(first, blocks=blocks),))

    file = render(text, ExportSettings(profile="print", color=True)).pdf
    assert verified(file, tmp_path, capsys)[0] == 1
    assert verified(render(replace(text, source=SourceType.MODEL)).pdf, tmp_path, capsys)[1].startswith("XMP: trained")


def test_the_mark_survives_saving_the_file_in_another_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = io.BytesIO()
    with pikepdf.open(io.BytesIO(render(book()).pdf)) as pdf:
        with pdf.open_metadata() as metadata:
            metadata["xmp:CreatorTool"] = "Somebody else's"
        pdf.save(saved)

    assert verified(saved.getvalue(), tmp_path, capsys)[0] == 0


def test_verify_says_who_signed_a_picture_and_whether_it_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = signed_picture().data
    changed = picture[:-100] + bytes([picture[-100] ^ 1]) + picture[-99:]

    code, said = verified(picture, tmp_path, capsys)
    assert (code, said.splitlines()) == (
        0,
        [
            "XMP: trainedAlgorithmicMedia (a generative model made it)",
            "content credential: trainedAlgorithmicMedia (a generative model made it), signed by “bookgen” "
            "(the certificate is not on a list of trusted signers)",
        ],
    )
    code, said = verified(changed, tmp_path, capsys)
    assert (code, said.splitlines()[1]) == (1, "content credential: the file was changed after “bookgen” signed it")


def truncated(file: bytes) -> bytes:
    return file[: len(file) // 2]


def with_broken_member(file: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(file)) as package:
        largest = max(package.infolist(), key=lambda each: each.compress_size)
    at = largest.header_offset + 200
    return file[:at] + bytes(byte ^ 0xFF for byte in file[at : at + 50]) + file[at + 50 :]


UNREADABLE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "text": lambda: b"A line.",
    "half an EPUB": lambda: truncated(render(book()).epub),
    "a broken EPUB": lambda: with_broken_member(render(book()).epub),
    "half a Word document": lambda: truncated(render(book()).docx),
    "half a picture": lambda: truncated(with_mark(red_picture(), SourceType.MODEL).data),
    "no real PDF": lambda: b"%PDF-1.7\nnothing",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_ends_with_2(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = verified(UNREADABLE[name](), tmp_path, capsys)

    assert (code, said) == (
        2,
        "bookgen: This file is not a readable PDF, EPUB, Word document, JPEG, PNG or WebP.\n",
    )


def test_a_missing_file_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "none.pdf")]) == 2
    assert "none.pdf cannot be read: No such file or directory." in capsys.readouterr().err
