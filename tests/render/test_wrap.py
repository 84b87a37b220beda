"""The print wrap: page boxes to the hundredth of an inch, a barcode that scans, and print colours only."""

from __future__ import annotations

import io
from typing import Any

import pikepdf
import pypdfium2
import pytest
import zxingcpp

from bench.render import corpus
from bookgen.errors import InvalidInput
from bookgen.render.job import Job
from bookgen.render.pdf.wrap import write_wrap
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import INCH, TRIMS
from tests.render.conftest import Make
from tests.render.test_settings import with_picture

PAGE = {"white": 0.002252, "cream": 0.0025}  # inches, from the printer's own page


@pytest.mark.parametrize("paper", PAGE)
@pytest.mark.parametrize("trim", TRIMS)
def test_the_page_boxes_are_the_ones_printers_expect(trim: str, paper: str, make: Make) -> None:
    book = make("A line.", trim=trim)
    for pages in (24, 79, 301, 776):
        with opened(write_wrap(book, pages, ExportSettings(paper=paper))) as pdf:
            (page,) = pdf.pages
            media, bleed, cut = (
                [float(each) / INCH for each in box] for box in (page.mediabox, page.bleedbox, page.trimbox)
            )
        width = 2 * TRIMS[trim].width / INCH + (pages + pages % 2) * PAGE[paper] + 0.25
        height = TRIMS[trim].height / INCH + 0.25

        assert media == bleed == pytest.approx([0, 0, width, height], abs=0.01)
        assert cut == pytest.approx([0.125, 0.125, width - 0.125, height - 0.125], abs=0.01)


def test_the_spine_of_an_exported_wrap_fits_its_interior() -> None:
    book, chapters = corpus.book(corpus.Corpus("wrap", chapters=3, words=9_000))
    settings = ExportSettings(cover_wrap=True, paper="cream")
    wrap = perform(Job("pdf", book, chapters, "A. Author", settings, watermark=False))
    interior = perform(Job("pdf", book, chapters, "A. Author", ExportSettings(profile="print"), watermark=False))

    with opened(interior) as inside, opened(wrap) as cover:
        width = 2 * 432 + len(inside.pages) * PAGE["cream"] * INCH + 18
        assert float(cover.pages[0].mediabox[2]) == pytest.approx(width, abs=0.01)


@pytest.mark.parametrize("isbn", ["978-3-16-148410-0", "3-16-148410-X"])
def test_the_barcode_can_be_scanned_from_the_sheet(isbn: str, make: Make) -> None:
    codes = zxingcpp.read_barcodes(raster(write_wrap(make("A line."), 200, ExportSettings(isbn=isbn))))

    assert [code.text for code in codes] == ["9783161484100"]


@pytest.mark.parametrize("marked", [False, True])
def test_the_watermark_of_the_plan_is_on_the_back(marked: bool, make: Make) -> None:
    sheet = write_wrap(make("A line.", watermark=marked), 200, ExportSettings(isbn="978-3-16-148410-0"))

    text = pypdfium2.PdfDocument(sheet)[0].get_textpage().get_text_range()

    assert ("Made with bookgen" in text) is marked
    assert zxingcpp.read_barcodes(raster(sheet))


def test_without_an_isbn_the_barcode_box_stays_white(make: Make) -> None:
    sheet = raster(write_wrap(make("A line."), 200, ExportSettings()))
    scale = sheet.width / (2 * 6 + 200 * PAGE["white"] + 0.25)
    box = [round(each * scale) for each in (3.875, 9.25 - 0.375 - 1.2, 5.875, 9.25 - 0.375)]

    assert zxingcpp.read_barcodes(sheet) == []
    assert sheet.crop((box[0] + 2, box[1] + 2, box[2] - 2, box[3] - 2)).getextrema() == ((255, 255),) * 3


@pytest.mark.parametrize("pictured", [False, True])
def test_everything_is_in_print_colours_within_the_ink_limit(pictured: bool, make: Make) -> None:
    book = make("A line.", blurb="A keeper writes down every ship. " * 9)
    book = with_picture(book) if pictured else book
    with opened(write_wrap(book, 200, ExportSettings(isbn="978-3-16-148410-0"))) as pdf:
        (page,) = pdf.pages
        found = [(list(operands), str(operator)) for operands, operator in pikepdf.parse_content_stream(page)]
        images = list(page.get_images().values())
        fonts = [font.DescendantFonts[0].FontDescriptor for font in page.Resources.get("/Font", {}).values()]

        assert pdf.pdf_version == "1.3"
        assert str(pdf.docinfo.GTS_PDFXConformance) == "PDF/X-1a:2001"
        assert str(pdf.Root.OutputIntents[0].OutputConditionIdentifier) == "CGATS TR 001"
        assert not {operator for _, operator in found} & {"rg", "RG", "cs", "CS", "sc", "scn", "sh", "gs", "BI"}
        assert max(sum(map(float, operands)) for operands, operator in found if operator in ("k", "K")) <= 2.0
        assert {str(image.ColorSpace) for image in images} == ({"/DeviceCMYK"} if pictured else set())
        assert all(image.Width >= 300 * 6.125 for image in images), "300 pixels an inch of trim and bleed"
        assert all("/FontFile2" in font or "/FontFile3" in font for font in fonts)


@pytest.mark.parametrize(("language", "back"), [("en", 0), ("he", 1)])
def test_the_back_with_the_barcode_is_on_the_side_where_the_book_ends(language: str, back: int, make: Make) -> None:
    sheet = raster(write_wrap(with_picture(make("A line.", language=language)), 200, ExportSettings()))
    scale = sheet.height / 9.25
    places = [0.125 + 6 - 0.25 - 1, 0.125 + 6 + 200 * PAGE["white"] + 6 - 0.25 - 1]
    white = [sheet.getpixel((round(x * scale), round((9.25 - 0.375 - 0.6) * scale))) == (255,) * 3 for x in places]

    assert white == [back == 0, back == 1]


def test_a_blurb_too_long_for_the_back_is_cut_after_a_sentence(make: Make) -> None:
    wrap = write_wrap(make("A line.", blurb="Here is one sentence more. " * 200), 200, ExportSettings())
    text = " ".join(pypdfium2.PdfDocument(wrap)[0].get_textpage().get_text_bounded().split())

    assert 20 < text.count("Here is") < 200
    assert text.count("Here is") == text.count("more.")


def test_the_spine_has_text_only_if_printers_accept_it(make: Make) -> None:
    said = [
        pypdfium2.PdfDocument(write_wrap(make("A line."), pages, ExportSettings(paper="cream")))[0]
        .get_textpage()
        .get_text_bounded()
        for pages in (78, 120)
    ]

    assert ["Ingrid Lindqvist" in each for each in said] == [False, True]


def test_a_book_too_thick_to_bind_is_refused_with_the_paper_named(make: Make) -> None:
    with pytest.raises(InvalidInput) as thick:
        write_wrap(make("A line."), 778, ExportSettings(paper="cream"))

    assert "776 pages of cream" in str(thick.value.details["settings"])


def raster(data: bytes) -> Any:
    return pypdfium2.PdfDocument(data)[0].render(scale=200 / 72).to_pil().convert("RGB")


def opened(data: bytes) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(data))
