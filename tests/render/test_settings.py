"""Each setting changes what it says."""

from __future__ import annotations

import io
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import pikepdf
import pytest
from PIL import Image

from bench.render import corpus
from bookgen.render.job import Job
from bookgen.render.layout.lines import Tail
from bookgen.render.layout.page import Layout
from bookgen.render.layout.rows import TextMark
from bookgen.render.model import Figure, Manuscript, Picture, PlacedPicture, Span
from bookgen.render.pdf.writer import write_pdf
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, render
from tests.render.measuring import overlaps

PROSE = "The harbour was considerably quieter that evening and nobody living there could remember otherwise. " * 20


def test_parts_of_the_front_matter_can_be_left_out(make: Make) -> None:
    bare = ExportSettings(include_title_page=False, include_copyright_page=False, include_toc=False)

    assert {page.kind for page in render(make(PROSE, PROSE)).layout.pages} == {"title", "copyright", "toc", "chapter"}
    assert {page.kind for page in render(make(PROSE, PROSE), bare).layout.pages} == {"chapter"}


def test_dedication_copyright_isbn_and_publisher_are_printed(make: Make) -> None:
    settings = ExportSettings(
        dedication="For Wren", copyright_text="Mine alone", isbn="978-3-16-148410-0", publisher="Quay"
    )
    rendered = render(make(PROSE), settings)

    for wanted in ("For Wren", "Mine alone", "ISBN 978-3-16-148410-0", "Quay"):
        assert wanted in lines(rendered.layout)
        assert wanted.encode() in unzipped(rendered.docx)
        assert wanted.encode() in unzipped(rendered.epub)


@pytest.mark.parametrize(
    ("font", "family"), [("serif", "SourceSerif4"), ("sans", "SourceSans3"), ("dyslexic", "AtkinsonHyperlegible")]
)
def test_the_font_setting_applies_to_the_book(font: str, family: str, make: Make) -> None:
    rendered = render(make(PROSE), ExportSettings(font=font))

    assert family in {face.key for face in rendered.layout.typeface.faces}
    assert {"serif": b"Source Serif 4", "sans": b"Source Sans 3", "dyslexic": b"Atkinson Hyperlegible"}[
        font
    ] in unzipped(rendered.docx)


def test_larger_type_and_line_spacing_take_more_pages(make: Make) -> None:
    text = make(PROSE * 12)
    pages = [
        len(render(text, settings).layout.pages)
        for settings in (ExportSettings(), ExportSettings(font_size=14), ExportSettings(line_spacing=2.0))
    ]

    assert pages[0] < pages[1]
    assert pages[0] < pages[2]


def test_ragged_lines_are_not_stretched(make: Make) -> None:
    ragged = render(make(PROSE), ExportSettings(justify=False))

    assert any(line.opening for line in body_lines(render(make(PROSE)).layout))
    assert not any(line.opening for line in body_lines(ragged.layout))
    assert b"text-align: start" in unzipped(ragged.epub)


def test_without_hyphenation_no_line_ends_with_a_hyphen(make: Make) -> None:
    text = make(PROSE * 5, trim="5x8")

    divided = render(text, ExportSettings(font_size=16))
    whole = render(text, ExportSettings(font_size=16, hyphenate=False))
    assert any(line.tail is Tail.HYPHEN for line in body_lines(divided.layout))
    assert not any(line.tail is Tail.HYPHEN for line in body_lines(whole.layout))
    assert b"autoHyphenation" not in unzipped(whole.docx)


def test_chapters_may_start_on_any_page(make: Make) -> None:
    text = make("One line.", "One line.", "One line.")
    anywhere = render(text, ExportSettings(chapter_starts="any"))

    assert len(anywhere.printed.pages) < len(render(text).printed.pages)
    assert b'w:type w:val="oddPage"' not in unzipped(anywhere.docx)


def test_page_numbers_and_running_heads_can_be_left_out(make: Make) -> None:
    plain = render(make(PROSE * 6), ExportSettings(page_numbers=False, running_heads=False)).layout

    assert not [placed for page in plain.pages for placed in page.placed if is_furniture(placed.mark)]


def test_a_printed_picture_is_grey_unless_colour_is_requested(make: Make) -> None:
    text = with_picture(make(PROSE))

    assert colour_spaces(text, ExportSettings(profile="print")) == {"/DeviceGray"}
    assert colour_spaces(text, ExportSettings(profile="print", color=True)) == {"/DeviceCMYK"}
    assert colour_spaces(text, ExportSettings()) == {"/DeviceRGB"}


def test_illustrations_can_be_left_out() -> None:
    book, chapters = corpus.book(corpus.Corpus("pictures", chapters=1, words=300))
    illustration = PlacedPicture(chapters[0].id, 1, red_picture(), "A red page", "Red")
    job = Job("epub", book, chapters, "A", ExportSettings(), watermark=False, illustrations=(illustration,))

    assert b"A red page" in unzipped(perform(job))
    without = replace(job, settings=ExportSettings(include_illustrations=False))
    assert b"A red page" not in unzipped(perform(without))
    assert job.digest != without.digest


def test_the_digital_book_starts_with_the_cover_unless_it_is_left_out(make: Make) -> None:
    text = with_picture(make(PROSE))

    assert render(text).layout.pages[0].kind == "cover"
    assert b"cover.jpg" in unzipped(render(text).epub)
    without = render(text, ExportSettings(include_cover=False))
    assert without.layout.pages[0].kind == "title"
    assert b"cover.jpg" not in unzipped(without.epub)


def test_drop_caps_are_in_the_pdf_and_the_epub(make: Make) -> None:
    dropped = render(make(PROSE), ExportSettings(drop_caps=True))

    assert "T" in lines(dropped.layout)
    assert b"first-letter" in unzipped(dropped.epub)


def test_a_paragraph_shorter_than_a_drop_cap_has_none(make: Make) -> None:
    short = "It is in to be or as we go on at my do if so no by an ox up he me us. " * 1
    layout = render(make(f"{short}\n\n{PROSE}", trim="a4"), ExportSettings(drop_caps=True)).layout

    assert [pair for page in layout.pages for pair in overlaps(page)] == []
    assert "I" not in lines(layout)


def test_every_setting_is_tested_here_or_on_the_pdf_or_on_the_wrap() -> None:
    files = ("test_settings.py", "test_pdf.py", "test_wrap.py")
    source = "".join(Path(__file__).with_name(name).read_text() for name in files)

    elsewhere = {"require_complete"}  # it refuses an export and changes no page: tests/http/test_exports.py
    assert [
        each.name for each in fields(ExportSettings) if each.name not in elsewhere and each.name not in source
    ] == []


def with_picture(text: Manuscript, picture: Picture | None = None) -> Manuscript:
    made = picture or red_picture()
    first, *rest = text.chapters
    figure = Figure(made, "A red page", (Span("Red"),))
    return replace(text, cover=made, chapters=(replace(first, blocks=(*first.blocks, figure)), *rest))


def red_picture(width: int = 900, height: int = 1200) -> Picture:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (180, 60, 40)).save(out, "JPEG")
    return Picture(out.getvalue(), width, height)


def colour_spaces(text: Manuscript, settings: ExportSettings) -> set[str]:
    layout = render(text, settings).layout
    with pikepdf.open(io.BytesIO(write_pdf(text, layout, settings))) as pdf:
        return {str(image.ColorSpace) for page in pdf.pages for image in page.get_images().values()}


def lines(layout: Layout) -> list[str]:
    return [
        placed.mark.line.text for page in layout.pages for placed in page.placed if isinstance(placed.mark, TextMark)
    ]


def body_lines(layout: Layout) -> list:  # type: ignore[type-arg]
    return [
        placed.mark.line
        for page in layout.pages
        for placed in page.placed
        if isinstance(placed.mark, TextMark) and placed.mark.element is not None and page.kind == "chapter"
    ]


def is_furniture(mark: object) -> bool:
    return isinstance(mark, TextMark) and mark.element is None


def unzipped(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return b"".join(package.read(name) for name in package.namelist())
