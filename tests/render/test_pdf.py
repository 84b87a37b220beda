"""The PDF for a printer's preflight and for a screen reader."""

from __future__ import annotations

import io
from dataclasses import replace

import pikepdf
import pytest

from bench.render import corpus
from bookgen.render.job import Job
from bookgen.render.layout.rows import Image
from bookgen.render.model import Figure
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import BLEED, TRIMS
from tests.render.conftest import Make, Rendered, render
from tests.render.reading import PdfText
from tests.render.test_pages import furniture
from tests.render.test_settings import red_picture, with_picture
from tests.render.test_spreads import made, picture_book

PROSE = "The harbour was quiet in the evening and nobody who lived there could remember it otherwise. " * 12


@pytest.mark.parametrize("name", TRIMS)
def test_every_page_has_exactly_the_trim_size(name: str, make: Make) -> None:
    with opened(render(make(PROSE, trim=name)).pdf) as pdf:
        for page in pdf.pages:
            assert [float(side) for side in page.mediabox] == pytest.approx(
                [0, 0, TRIMS[name].width, TRIMS[name].height], abs=0.01
            )


def test_with_bleed_the_trim_box_is_inside_the_sheet(make: Make) -> None:
    with opened(render(make(PROSE), ExportSettings(bleed=True, profile="print")).pdf) as pdf:
        boxes = [
            ([float(each) for each in page.mediabox], [float(each) for each in page.trimbox]) for page in pdf.pages
        ]

    assert boxes[0] == ([0, 0, 432 + BLEED, 648 + 2 * BLEED], [0, BLEED, 432, BLEED + 648])
    assert boxes[1] == ([0, 0, 432 + BLEED, 648 + 2 * BLEED], [BLEED, BLEED, BLEED + 432, BLEED + 648])


def test_every_font_is_embedded_as_a_subset_and_maps_to_text(rich: Rendered) -> None:
    with opened(rich.pdf) as pdf:
        fonts = {font.objgen: font for page in pdf.pages for font in page.Resources.get("/Font", {}).values()}
        for font in fonts.values():
            descriptor = font.DescendantFonts[0].FontDescriptor
            assert "/FontFile2" in descriptor or "/FontFile3" in descriptor
            assert str(font.BaseFont)[7] == "+"
            assert "/ToUnicode" in font
            assert "Helvetica" not in str(font.BaseFont)


def test_the_digital_file_has_outline_links_tags_and_metadata(small: Rendered) -> None:
    with opened(small.pdf) as pdf:
        root = pdf.Root
        with pdf.open_outline() as outline:
            titles = [item.title for item in outline.root]
        links = [str(each.Subtype) for page in pdf.pages for each in page.get("/Annots", [])]
        metadata = root.Metadata.read_bytes().decode()

        assert titles == [section.title for section in small.manuscript.chapters]
        assert links == ["/Link"] * 3
        assert (root.MarkInfo.Marked, str(root.Lang)) == (True, "en-US")
        for claim in ("<pdfaid:part>2<", "<pdfaid:conformance>A<", "<pdfuaid:part>1<"):
            assert claim in metadata
        assert pdf.pdf_version == "1.7"
        assert "The Patient Harbour" in metadata


def test_the_print_file_has_no_extras_and_an_even_number_of_pages(make: Make) -> None:
    with opened(
        render(make(PROSE, f"[Away](https://example.org) {PROSE}"), ExportSettings(profile="print")).pdf
    ) as pdf:
        assert len(pdf.pages) % 2 == 0
        assert not {"/Outlines", "/StructTreeRoot", "/Metadata", "/PageLabels"} & set(pdf.Root.keys())
        assert not any("/Annots" in page for page in pdf.pages)


def test_the_print_file_is_pdf_x_1a_in_black_or_cmyk(make: Make) -> None:
    for color, spaces in ((False, {"/DeviceGray"}), (True, {"/DeviceCMYK"})):
        settings = ExportSettings(profile="print", color=color)
        with opened(render(with_picture(make(PROSE, watermark=True)), settings).pdf) as pdf:
            images = [image for page in pdf.pages for image in page.get_images().values()]
            operators = {str(operator) for page in pdf.pages for _, operator in pikepdf.parse_content_stream(page)}

            assert pdf.pdf_version == "1.3"
            assert str(pdf.docinfo.GTS_PDFXConformance) == "PDF/X-1a:2001"
            assert str(pdf.docinfo.Trapped) == "/False"
            assert str(pdf.Root.OutputIntents[0].S) == "/GTS_PDFX"
            assert {str(image.ColorSpace) for image in images} == spaces
            assert not operators & {"rg", "RG", "cs", "CS", "sh", "gs"}
            assert all("/TrimBox" in page for page in pdf.pages)


def test_page_labels_are_roman_and_then_arabic_numerals(small: Rendered) -> None:
    with opened(small.pdf) as pdf:
        labels = [page.label for page in pdf.pages]

    front = small.layout.front_pages
    assert (labels[0], labels[front - 1], labels[front]) == ("i", "iii", "1")


def test_the_cover_is_not_counted_as_a_page(make: Make) -> None:
    text = with_picture(make(PROSE, PROSE))
    book, plain = render(text), render(text, ExportSettings(include_cover=False))
    contents = next(page for page in book.layout.pages if page.kind == "toc")
    with opened(book.pdf) as pdf:
        labels = [page.label for page in pdf.pages]

    assert labels[:5] == ["Cover", "i", "ii", "iii", "1"]
    assert labels == [page.label for page in book.layout.pages]
    assert [mark.line.text for mark in furniture(contents)] == ["iii"]
    assert labels[1:] == [page.label for page in plain.layout.pages]
    assert [page.label for page in book.printed.pages][:3] == ["i", "ii", "iii"]


def test_the_cover_of_a_picture_book_is_not_counted_as_a_page() -> None:
    with opened(made("pdf", replace(picture_book(), cover=red_picture()))) as pdf:
        assert [page.label for page in pdf.pages][:2] == ["Cover", "i"]


def test_headings_are_in_order_and_the_title_comes_first(rich: Rendered) -> None:
    tree = PdfText(rich.pdf).tree
    levels = [int(node.role[1]) for section in tree.kids[1:] for node in section.walk() if node.role[0] == "H"]

    assert levels[0] == 1
    assert levels.count(1) == len(rich.manuscript.chapters)
    assert set(levels) == {1, 2, 3}


def test_tables_lists_and_notes_are_tagged_as_such(rich: Rendered) -> None:
    roles = {node.role for node in PdfText(rich.pdf).tree.walk()}

    assert {"Table", "TR", "TH", "TD", "L", "LI", "Lbl", "LBody", "Note", "BlockQuote", "Code", "TOC", "TOCI"} <= roles


def test_a_figure_has_its_alt_text(make: Make) -> None:
    figures = [node.alt for node in PdfText(render(with_picture(make(PROSE))).pdf).tree.walk() if node.role == "Figure"]

    assert figures == ["The Patient Harbour, Ingrid Lindqvist", "A red page"]


@pytest.mark.parametrize("pixels", [300, 900, 4_000])
def test_a_picture_is_printed_at_300_pixels_per_inch(pixels: int, make: Make) -> None:
    text = make(PROSE)
    first, *rest = text.chapters
    figure = Figure(red_picture(pixels, pixels), "A red page")
    layout = render(replace(text, chapters=(replace(first, blocks=(*first.blocks, figure)), *rest))).layout
    (image,) = [placed.mark for page in layout.pages for placed in page.placed if isinstance(placed.mark, Image)]

    assert pixels / (image.width / 72) >= 299.9
    assert image.width == pytest.approx(image.height)


def test_no_glyph_is_missing(rich: Rendered) -> None:
    with opened(rich.pdf) as pdf:
        for page in pdf.pages:
            shown = b"".join(
                bytes(each)
                for operands, operator in pikepdf.parse_content_stream(page, "TJ")
                for each in operands[0]
                if isinstance(each, pikepdf.String) and str(operator) == "TJ"
            )
            assert 0 not in {int.from_bytes(shown[at : at + 2], "big") for at in range(0, len(shown), 2)}


def test_the_watermark_is_text_under_every_page_of_the_free_plan(make: Make) -> None:
    free = PdfText(render(make(PROSE, watermark=True)).pdf)
    paid = PdfText(render(make(PROSE)).pdf)

    assert all("Made with bookgen" in furniture for furniture in free.artifacts)
    assert not any("Made with bookgen" in furniture for furniture in paid.artifacts)


def test_there_is_no_transparency(small: Rendered, make: Make) -> None:
    for data in (small.pdf, render(make(PROSE, watermark=True)).pdf):
        assert b"/SMask" not in data
        assert b"/Transparency" not in data


def test_a_preview_is_ten_pages_marked_as_one(small: Rendered) -> None:
    book, chapters = corpus.book(corpus.Corpus("small", chapters=3, words=9_000))
    job = Job("preview", book, chapters, "A. Author", ExportSettings(), watermark=True, cover=red_picture())
    read = PdfText(perform(job))

    assert len(read.artifacts) == 10
    assert all("PREVIEW" in furniture for furniture in read.artifacts)


def test_a_link_in_the_text_leads_to_its_address(make: Make) -> None:
    with opened(render(make(f"See [the harbour](https://example.org/a?b=1) there. {PROSE}")).pdf) as pdf:
        addresses = [str(each.A.URI) for page in pdf.pages for each in page.get("/Annots", []) if "/A" in each]

    assert addresses == ["https://example.org/a?b=1"]


def opened(data: bytes) -> pikepdf.Pdf:
    return pikepdf.open(io.BytesIO(data))
