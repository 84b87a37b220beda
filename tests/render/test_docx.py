"""The Word document, checked against the Open XML rules and by its appearance."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import docx
import pytest
import uharfbuzz as hb
from docx.oxml.ns import qn
from lxml import etree
from openxml_audit import OpenXmlValidator

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.reading import W
from tests.render.test_settings import unzipped, with_picture


@pytest.mark.parametrize("case", ["rich", "pictures", "watermark", "verse", "from the right"])
def test_the_docx_audit_finds_no_fault(case: str, small: Rendered, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "book.docx"
    match case:
        case "rich":
            file.write_bytes(small.docx)
        case "pictures":
            file.write_bytes(render(with_picture(make("A [link](https://example.org).")), ExportSettings()).docx)
        case "watermark":
            file.write_bytes(render(make("A line.", watermark=True)).docx)
        case "verse":
            poems = "## Mud\n\nNot drink.\n        Not *boys*.\n\n## Key\n\nThe padlock on the shed"
            file.write_bytes(render(make(poems, poems, genre="Poetry")).docx)
        case _:
            file.write_bytes(render(make("كان يا ما كان", language="ar")).docx)

    assert [str(error) for error in OpenXmlValidator().validate(str(file)).errors] == []


@pytest.mark.parametrize("language", ["en", "ja", "ar"])
def test_word_opens_the_document_without_its_compatibility_mode(language: str, make: Make) -> None:
    settings = unzipped(render(make("A line.", language=language)).docx)

    assert re.findall(b'compatibilityMode"[^>]*w:val="([0-9]+)"', settings) == [b"15"]


def test_the_table_of_contents_has_the_numbers_of_the_pdf(small: Rendered) -> None:
    document = docx.Document(io.BytesIO(small.docx))
    entries = ["".join(each.text or "" for each in p._p.iter(f"{W}t")) for p in of_style(document, "toc 1")]
    pages = [page.label for page in small.layout.pages if page.anchors]
    expected = [f"{each.number}{each.title}{page}" for each, page in zip(small.manuscript.chapters, pages, strict=True)]

    assert entries == expected


@pytest.mark.parametrize(
    ("blurb", "comments"),
    [("Short.", "Short."), ("word " * 60, f"{'word ' * 49}word…"), ("字" * 300, f"{'字' * 254}…")],
)
def test_a_long_blurb_ends_after_a_word_in_the_files_properties(make: Make, blurb: str, comments: str) -> None:
    document = docx.Document(io.BytesIO(render(make("Text.", blurb=blurb)).docx))

    assert document.core_properties.comments == comments


@pytest.mark.parametrize(("profile", "start"), [("digital", "nextPage"), ("print", "oddPage")])
def test_each_chapter_is_a_section_that_starts_on_a_right_hand_page_in_print(
    make: Make, profile: str, start: str
) -> None:
    book = render(make("A line.", "A line.", "A line."), ExportSettings(profile=profile))
    document = docx.Document(io.BytesIO(book.docx))
    starts = [section._sectPr.find(qn("w:type")).get(qn("w:val")) for section in document.sections]

    assert starts == ["nextPage", start, start, start]
    assert len(of_style(document, "Heading 1")) == 3


@pytest.mark.parametrize(
    ("language", "words", "families"),
    [
        ("en", "A `line` of code.", {"Source Serif 4", "Source Code Pro"}),
        ("ar", "كان يا ما كان", {"Source Serif 4", "Amiri"}),
    ],
)
def test_the_document_embeds_its_fonts_with_the_letters_of_the_book(
    make: Make, language: str, words: str, families: set[str]
) -> None:
    with zipfile.ZipFile(io.BytesIO(render(make(words, language=language)).docx)) as package:
        table = etree.fromstring(package.read("word/fontTable.xml"))
        relations = etree.fromstring(package.read("word/_rels/fontTable.xml.rels"))
        files = {each.get("Id"): package.read(f"word/{each.get('Target')}") for each in relations}
    covered: dict[str, set[int]] = {}
    for font in table:
        for slot in font:
            if key := slot.get(f"{W}fontKey"):
                face = hb.Face(hb.Blob(shown(files[slot.get(qn("r:id"))], key)))
                covered.setdefault(font.get(f"{W}name"), set()).update(face.unicodes)
                assert not face.axis_infos

    assert set(covered) == families
    assert {ord(letter) for letter in words if letter.isalpha()} <= set.union(*covered.values())


def shown(data: bytes, key: str) -> bytes:
    """The embedded font as an application decodes it: its first 32 bytes are obfuscated with the key."""
    mask = bytes.fromhex(key.strip("{}").replace("-", ""))[::-1] * 2
    return bytes(byte ^ other for byte, other in zip(data[:32], mask, strict=True)) + data[32:]


def test_each_chapters_running_head_shows_its_own_title(small: Rendered) -> None:
    """Also in readers that do not compute fields."""
    sections = list(docx.Document(io.BytesIO(small.docx)).sections)[1:]

    shown = ["".join(each.text or "" for each in section.header._element.iter(f"{W}t")) for section in sections]
    assert shown == [each.title for each in small.manuscript.chapters]


def test_a_long_title_is_shortened_for_the_running_head(make: Make) -> None:
    title = "A title that is far too long to stand in one line above a page of the book that it names"
    *_, section = docx.Document(io.BytesIO(render(make((title, "A line."), title=title)).docx)).sections

    for head in (section.header, section.even_page_header):
        shown = "".join(each.text or "" for each in head._element.iter(f"{W}t"))
        assert shown.endswith("…")
        assert title.startswith(shown.removesuffix("…"))


def test_the_publisher_is_on_the_title_page(make: Make) -> None:
    book = render(make("A line."), ExportSettings(publisher="House", include_copyright_page=False))

    assert [each.text for each in of_style(docx.Document(io.BytesIO(book.docx)), "Book Author")][1:] == ["House"]


def test_a_nested_quotation_is_indented_further(make: Make) -> None:
    document = docx.Document(io.BytesIO(render(make("> a\n>\n> > b")).docx))
    outer, inner = of_style(document, "Quote")

    assert outer.paragraph_format.left_indent is None
    assert inner.paragraph_format.left_indent > document.styles["Quote"].paragraph_format.left_indent


def test_a_column_of_short_words_breaks_none_of_them(make: Make) -> None:
    long = "The harbour was quiet in the evening and nobody knew. " * 3
    document = docx.Document(io.BytesIO(render(make(f"| a | b |\n|---|--:|\n| {long} | 1,000.00 |")).docx))
    (table,) = document.tables

    assert table.columns[1].width.pt > 8 * 0.55 * 8.6


def test_pages_are_the_trim_with_mirrored_margins(small: Rendered) -> None:
    document = docx.Document(io.BytesIO(small.docx))

    assert {(section.page_width.pt, section.page_height.pt) for section in document.sections} == {(432, 648)}
    settings = document.settings.element
    assert all(settings.find(qn(f"w:{tag}")) is not None for tag in ("mirrorMargins", "evenAndOddHeaders"))


def test_notes_and_language_and_properties_are_native_features(small: Rendered) -> None:
    document = docx.Document(io.BytesIO(small.docx))
    everything = unzipped(small.docx).decode("utf-8", "replace")

    assert document.core_properties.title == "The Patient Harbour"
    assert document.core_properties.author == "Ingrid Lindqvist"
    assert re.search(r'<w:lang [^>]*w:val="en-US"', everything)
    assert "<w:footnoteReference" in everything
    assert 'STYLEREF "heading 1"' in everything


def test_pictures_have_alt_text(make: Make) -> None:
    everything = unzipped(render(with_picture(make("A line."))).docx)

    assert b'descr="A red page"' in everything
    assert b'descr="The Patient Harbour, Ingrid Lindqvist"' in everything


def of_style(document: docx.document.Document, name: str) -> list:  # type: ignore[type-arg]
    return [paragraph for paragraph in document.paragraphs if paragraph.style.name == name]
