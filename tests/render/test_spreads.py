"""Picture books: the picture on the left page, the text on the right, in every file."""

from __future__ import annotations

import io
import os
import re
import zipfile
from dataclasses import replace

import pikepdf
import pytest
from docx import Document
from lxml import etree
from PIL import Image

from bookgen.models import AgeRange
from bookgen.render.cover.colour import contrast
from bookgen.render.edition import Edition
from bookgen.render.formats import FORMATS
from bookgen.render.layout.rows import Fill, TextMark
from bookgen.render.layout.rows import Image as Shown
from bookgen.render.model import Figure, Manuscript
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings
from bookgen.render.tints import tint
from tests.render.conftest import make_manuscript
from tests.render.reading import PdfText
from tests.render.test_settings import red_picture

ALT = "Pip waves from the red hill."
TEXTS = ("This is Pip.\n\nGood morning, Pip!", "“Come along,” says Otto.\n\nOff they go.", "Good night, Pip.")


def picture_book(
    *texts: str, ages: AgeRange = AgeRange.PRESCHOOLERS, side: int = 600, trim: str = "8.5x8.5", **fields: object
) -> Manuscript:
    text = make_manuscript(*(texts or TEXTS), trim=trim, **fields)  # type: ignore[arg-type]
    figure = Figure(red_picture(side, side), ALT)
    chapters = tuple(replace(section, blocks=(figure, *section.blocks)) for section in text.chapters)
    return replace(text, ages=ages.value, chapters=chapters)


def edition(text: Manuscript | None = None, **settings: object) -> Edition:
    return Edition(text or picture_book(), ExportSettings(**settings), os.urandom(8).hex())  # type: ignore[arg-type]


def made(kind: str, text: Manuscript | None = None, **settings: object) -> bytes:
    return FORMATS[kind].write(edition(text, **settings))


def said(page: object) -> str:
    placed = page.placed  # type: ignore[attr-defined]
    return " ".join(each.mark.line.text for each in placed if isinstance(each.mark, TextMark))


def test_a_spread_has_a_picture_on_the_left_and_its_text_on_the_right() -> None:
    layout = edition().layout

    assert [page.kind for page in layout.pages] == ["title", *["chapter"] * 6, "copyright"]
    assert layout.facing
    for at in (1, 3, 5):
        (whole,) = layout.pages[at].placed
        assert isinstance(whole.mark, Shown)
        assert (whole.mark.width, whole.mark.height) == (612, 612)
        assert whole.mark.element.alt == ALT
        assert isinstance(layout.pages[at + 1].placed[0].mark, Fill)
    assert said(layout.pages[2]) == "This is Pip. Good morning, Pip! 2"


def test_the_print_profile_is_in_colour_with_bleed_and_an_even_number_of_pages() -> None:
    with pikepdf.open(io.BytesIO(made("pdf", profile="print"))) as pdf:
        assert len(pdf.pages) == 8
        for at, page in enumerate(pdf.pages):
            assert [float(each) for each in page.mediabox] == [0, 0, 621, 630]
            left = 0 if at % 2 == 0 else 9
            assert [float(each) for each in page.trimbox] == [left, 9, left + 612, 621]
        images = [image for page in pdf.pages for image in page.get_images().values()]
    assert {str(image.ColorSpace) for image in images} == {"/DeviceCMYK"}


def test_a_printed_picture_has_300_pixels_per_inch_and_fills_the_bleed() -> None:
    printed = edition(profile="print").layout.pages[1].placed[0]

    assert (printed.mark.x, printed.mark.dy) == (-9, -9)  # type: ignore[union-attr]
    assert printed.mark.picture.width * 72 / printed.mark.width >= 300  # type: ignore[union-attr]


def test_a_picture_with_other_proportions_is_cropped_to_the_page_and_never_stretched() -> None:
    shown = edition(picture_book(trim="6x9")).layout.pages[1].placed[0].mark

    assert isinstance(shown, Shown)
    assert shown.picture.width / shown.picture.height == pytest.approx(6 / 9, rel=0.01)


@pytest.mark.parametrize("ages", AgeRange)
def test_the_type_is_larger_for_younger_readers(ages: AgeRange) -> None:
    sizes = {AgeRange.TODDLERS: 30, AgeRange.PRESCHOOLERS: 24, AgeRange.FIRST_READERS: 19, AgeRange.READERS: 15}

    page = edition(picture_book(ages=ages)).layout.pages[2]

    assert page.placed[1].mark.size == sizes[ages]  # type: ignore[union-attr]


def test_a_text_too_long_for_its_page_continues_and_loses_nothing() -> None:
    sentence = "The quick brown fox jumps over the lazy dog and tells nobody of it."
    text = picture_book(" ".join([sentence] * 150), "The end.")

    layout = edition(text).layout

    story = layout.pages[1:-1]
    assert len(story) % 2 == 0
    words = " ".join(said(page) for page in story if page.chapter == 1)
    assert len(re.findall("fox", words)) == 150
    assert edition(text).pagination.chapter_labels[2] == str(len([page for page in story if page.chapter == 1]) + 1)


def test_page_contents_stay_within_the_margins() -> None:
    for ages in AgeRange:
        long = "Supercalifragilisticexpialidocious " * 40
        for page in edition(picture_book(long, long, ages=ages), profile="print").layout.pages:
            for placed in page.placed:
                if isinstance(mark := placed.mark, TextMark):
                    assert placed.x + mark.x + mark.line.x >= 36
                    assert placed.x + mark.x + mark.line.x + mark.line.width <= 612 - 36
                    assert 27 <= placed.y <= 612 - 36


def test_with_a_cover_the_copyright_page_precedes_the_title_so_that_spreads_face_each_other() -> None:
    text = replace(picture_book(), cover=red_picture())

    kinds = [page.kind for page in edition(text).layout.pages]

    assert kinds == ["cover", "copyright", "title", *["chapter"] * 6]


@pytest.mark.parametrize("profile", ["digital", "print"])
def test_without_title_and_copyright_pages_the_print_file_keeps_left_and_right(profile: str) -> None:
    layout = edition(profile=profile, include_title_page=False, include_copyright_page=False).layout

    assert len(layout.pages) == (6 if profile == "digital" else 8)


def test_a_spread_without_a_picture_has_a_blank_page_instead() -> None:
    text = picture_book()
    bare = replace(text.chapters[1], blocks=text.chapters[1].blocks[1:])

    layout = edition(replace(text, chapters=(text.chapters[0], bare, text.chapters[2]))).layout

    assert isinstance(layout.pages[3].placed[0].mark, Fill)
    assert "Otto" in said(layout.pages[4])


def test_the_watermark_is_on_every_page_and_covers_no_text() -> None:
    pdf = PdfText(made("pdf", picture_book(watermark=True)))

    assert "Good morning" in " ".join(pdf.words())
    with pikepdf.open(io.BytesIO(made("pdf", picture_book(watermark=True)))) as file:
        for page in file.pages:
            content = page.Contents.read_bytes()
            assert b"/Subtype /Watermark" in content
            if b" re f Q" in content:
                assert content.index(b" re f Q") < content.index(b"/Subtype /Watermark")


def test_the_text_page_has_the_pictures_colour_and_black_text() -> None:
    for colour in ((180, 60, 40), (0, 0, 0), (255, 255, 255), (20, 30, 120)):
        out = io.BytesIO()
        Image.new("RGB", (64, 64), colour).save(out, "JPEG")
        assert contrast(tint(replace(red_picture(), data=out.getvalue())), (0, 0, 0)) >= 11


def test_the_preview_shows_the_same_pages() -> None:
    layout = edition().layout

    pages = html_pages(layout)

    assert [page["kind"] for page in pages] == ["title", *["chapter"] * 6, "copyright"]
    assert f'alt="{ALT}"' in pages[1]["html"]
    assert "background:rgb(" in pages[2]["html"]
    assert "Good morning" in re.sub("<[^>]+>", "", pages[2]["html"])


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return {name: package.read(name) for name in package.namelist()}


@pytest.mark.parametrize(("language", "sides"), [("en", ("left", "right")), ("ar", ("right", "left"))])
def test_the_epub_has_a_fixed_layout_whose_spreads_face_each_other(language: str, sides: tuple[str, str]) -> None:
    package = members(made("epub", picture_book(language=language)))["EPUB/content.opf"].decode()

    assert '<meta property="rendition:layout">pre-paginated</meta>' in package
    for number in (1, 2, 3):
        assert f'idref="chapter00{number}" properties="page-spread-{sides[0]}"' in package
        assert f'idref="chapter00{number}text" properties="page-spread-{sides[1]}"' in package


def test_every_epub_page_declares_its_size_and_its_text_is_real_text() -> None:
    files = members(made("epub"))

    pages = {name: etree.fromstring(data) for name, data in files.items() if name.endswith(".xhtml")}
    for name, page in pages.items():
        assert page.xpath('//*[local-name()="meta"][@name="viewport"]/@content') == ["width=1224, height=1224"], name
    text = pages["EPUB/chapter001text.xhtml"]
    assert text.xpath('//*[local-name()="p"]/text()')[:2] == ["This is Pip.", "Good morning, Pip!"]
    assert pages["EPUB/chapter001.xhtml"].xpath('//*[local-name()="img"]/@alt') == [ALT]


def test_the_page_list_of_the_epub_has_the_printed_page_numbers() -> None:
    contents = members(made("epub"))["EPUB/nav.xhtml"].decode()

    assert re.findall(r'xhtml#p(\d+)">(\d+)<', contents) == [(str(page), str(page)) for page in range(1, 7)]


def test_the_docx_has_each_picture_with_its_text_and_alt_text() -> None:
    document = Document(io.BytesIO(made("docx")))

    assert len(document.inline_shapes) == 3
    assert [shape.width.inches for shape in document.inline_shapes] == [pytest.approx(8.5 * 0.38, abs=0.01)] * 3
    headings = [each.text for each in document.paragraphs if each.style and each.style.name == "Heading 1"]
    assert headings == ["Part 1", "Part 2", "Part 3"]
    assert not [each for each in document.paragraphs if each.style and each.style.name == "ChapterNumber"]
    assert "Good morning, Pip!" in [paragraph.text for paragraph in document.paragraphs]
    assert ALT in members(made("docx"))["word/document.xml"].decode()
