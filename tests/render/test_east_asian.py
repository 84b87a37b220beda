"""Books in Chinese, Japanese and Korean, by the rules of their typesetters."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace

import docx
import pikepdf
import pytest
from lxml import etree

from bookgen.render.docx.writer import write_docx
from bookgen.render.epub.style import style_sheet
from bookgen.render.epub.writer import write_epub
from bookgen.render.epub.xhtml import ChapterWriter
from bookgen.render.fonts.system import system_sources
from bookgen.render.fonts.typeface import Typeface
from bookgen.render.layout.compose import setter_for
from bookgen.render.layout.front import FrontMatter, copyright_paragraphs
from bookgen.render.layout.page import Pagination
from bookgen.render.layout.rows import Element, Image, TextMark
from bookgen.render.layout.words import WordMaker
from bookgen.render.locales import language
from bookgen.render.model import Manuscript, Span
from bookgen.render.preview import html_pages
from bookgen.render.settings import ExportSettings
from bookgen.render.trim import TRIMS
from tests.render.conftest import Make, render
from tests.render.measuring import body
from tests.render.reading import PdfText, W
from tests.render.test_settings import red_picture

PAGES = Pagination(2, {1: "1"}, ())  # so that Word files need no layout, and no font for it


@pytest.mark.parametrize(
    ("tag", "font", "face", "word_tag"),
    [
        ("ja", "serif", "Yu Mincho", "ja-JP"),
        ("ja", "sans", "Yu Gothic", "ja-JP"),
        ("zh", "serif", "SimSun", "zh-CN"),
        ("zh-Hans", "dyslexic", "Microsoft YaHei", "zh-CN"),
        ("zh-Hant", "serif", "PMingLiU", "zh-TW"),
        ("zh-TW", "sans", "Microsoft JhengHei", "zh-TW"),
        ("ko", "serif", "Batang", "ko-KR"),
        ("en", "serif", "Source Serif 4", "en"),
    ],
)
def test_a_word_file_names_one_of_words_own_east_asian_faces(
    tag: str, font: str, face: str, word_tag: str, make: Make
) -> None:
    book, settings = make("One.", language=tag), ExportSettings(font=font)
    styles, table = (etree.fromstring(in_word(book, f"word/{name}.xml", settings)) for name in ("styles", "fontTable"))
    (fonts,) = styles.iterfind(f"{W}docDefaults//{W}rFonts")
    (lang,) = styles.iterfind(f"{W}docDefaults//{W}lang")

    assert (fonts.get(f"{W}eastAsia"), lang.get(f"{W}eastAsia")) == (face, word_tag)
    assert face in [each.get(f"{W}name") for each in table]


@pytest.mark.parametrize(
    ("tag", "least", "most"), [("en", 1.3, 1.35), ("zh-Hant", 1.65, 1.7), ("ja", 1.65, 1.7), ("ko", 1.55, 1.6)]
)
def test_lines_of_east_asian_text_are_further_apart(tag: str, least: float, most: float, make: Make) -> None:
    book = make("One.", language=tag)
    page = setter_for(book, ExportSettings()).geometry
    double = setter_for(book, ExportSettings(line_spacing=2.2)).geometry
    sheet = style_sheet(ExportSettings(), language(tag)).decode()

    assert least <= page.lead / page.size <= most
    assert double.lead == pytest.approx(page.lead * 2, abs=0.01)
    assert page.foot > page.folio
    assert f'w:line="{round(page.lead * 20)}"'.encode() in in_word(book, "word/styles.xml")
    assert float(sheet.partition("line-height: ")[2].partition(";")[0]) == pytest.approx(
        page.lead / page.size, rel=0.07
    )


@pytest.mark.parametrize("trim", TRIMS)
@pytest.mark.parametrize("size", [None, 9.3])
def test_lines_are_a_whole_number_of_characters_wide(trim: str, size: float | None, make: Make) -> None:
    settings = ExportSettings(font_size=size)
    page, latin = (setter_for(make("One.", language=tag, trim=trim), settings).geometry for tag in ("ja", "en"))
    characters = page.measure / page.size

    assert characters == pytest.approx(round(characters), abs=0.01)
    assert page.inset == 2 * page.size
    assert 0 <= latin.measure - page.measure < page.size
    assert page.inside(200) == pytest.approx(latin.inside(200), abs=0.02)


def test_a_full_line_of_ideographs_is_not_stretched(make: Make) -> None:
    if not system_sources("ja"):
        pytest.skip("This machine has no font with ideographs.")
    book = render(make(f"{'海' * 100}\n\n> {'海' * 100}", language="ja"))
    lines = [mark.line for page in book.layout.pages for _, mark in body(page) if "海" * 20 in mark.line.text]

    assert [len(line.text) for line in lines] == [30, 31, 31, 26, 27, 27, 20]
    assert {(round(line.opening, 2), round(line.expansion, 2)) for line in lines} == {(0.0, 100.0)}


@pytest.mark.parametrize(
    ("tag", "indents"), [("ja", [0.0, 10.5, 0.0]), ("zh", [21.0, 21.0, 21.0]), ("ko", [15.75, 15.75, 15.75])]
)
def test_a_japanese_paragraph_that_begins_with_a_bracket_has_no_indent(
    tag: str, indents: list[float], make: Make
) -> None:
    if not system_sources(tag):
        pytest.skip("This machine has no font with ideographs.")
    book = render(make(("一", "「来た。」\n\n彼は言った。\n\n『夜』だ。"), language=tag))
    marks = [each.mark for page in book.layout.pages for each in page.placed]
    lines = [mark.line for mark in marks if isinstance(mark, TextMark) and mark.element and mark.element.role == "P"]
    written = in_word(book.manuscript, "word/document.xml").decode()
    paragraphs = re.findall(r"<w:pPr>[^「彼『]*[「彼『]", written)
    with zipfile.ZipFile(io.BytesIO(book.epub)) as package:
        page, sheet = (package.read(f"EPUB/{name}").decode() for name in ("chapter001.xhtml", "style.css"))

    assert [line.x for line in lines[-3:]] == pytest.approx(indents)
    assert ['w:firstLine="0"' in each for each in paragraphs] == [indent == 0.0 for indent in indents]
    assert ['class="bracket"' in each for each in re.findall("<p[^r][^「彼『]*", page)] == [
        not each for each in indents
    ]
    assert ("p.bracket" in sheet) == (0.0 in indents)


@pytest.mark.parametrize("tag", ["ja", "zh", "ko"])
def test_the_address_and_the_signature_of_a_letter_have_no_indent(tag: str, make: Make) -> None:
    if not system_sources(tag):
        pytest.skip("This machine has no font with ideographs.")
    long = "海" * 40
    book = render(make(f"文。\n\n> 七夏様\n>\n> {long}\n>\n> {long}\n>\n> 菊池", language=tag))
    lines = [mark.line for page in book.layout.pages for _, mark in body(page) if mark.element.role == "P"]
    edges = {line.text[:2]: line.x for line in lines}
    with zipfile.ZipFile(io.BytesIO(book.epub)) as package:
        page, sheet = (package.read(f"EPUB/{name}").decode() for name in ("chapter001.xhtml", "style.css"))

    assert edges["七夏"] == edges["菊池"] == 0.0
    assert max(line.x for line in lines if line.text.startswith("海")) > 0.0
    assert re.findall('<p[^>]*class="flush">(.)', page) == ["七", "海", "菊"]
    assert "blockquote p.flush { text-indent: 0 }" in sheet


@pytest.mark.parametrize(
    ("tag", "control"), [("ja", "compressPunctuation"), ("zh-TW", "compressPunctuation"), ("ko", "doNotCompress")]
)
def test_word_closes_up_marks_that_meet(tag: str, control: str, make: Make) -> None:
    settings = in_word(make("One.", language=tag), "word/settings.xml").decode()

    assert f'<w:characterSpacingControl w:val="{control}"/>' in settings


@pytest.mark.parametrize(
    ("tag", "run", "rule"),
    [
        ("ja", '<w:em w:val="comma"/>', "em { font-style: normal; -epub-text-emphasis: filled sesame;"),
        ("zh-Hant", '<w:em w:val="underDot"/>', "em { font-style: normal; -epub-text-emphasis: filled dot;"),
        ("ko", "<w:i/><w:iCs/>", ""),
    ],
)
def test_emphasised_ideographs_have_dots_and_no_italics(tag: str, run: str, rule: str, make: Make) -> None:
    book = make("文*文字*文*Titanic*文。", language=tag)
    written = in_word(book, "word/document.xml").decode()
    subtitle = in_word(book, "word/styles.xml").decode().partition('w:styleId="Subtitle"')[2].partition("</w:style>")[0]
    sheet = style_sheet(ExportSettings(), language(tag)).decode()
    body = ChapterWriter(book.chapters[0], (), {}, language(tag)).body()

    assert f'<w:rPr>{run}</w:rPr><w:t xml:space="preserve">文字<' in written
    assert '<w:rPr><w:i/><w:iCs/></w:rPr><w:t xml:space="preserve">Titanic<' in written
    assert ("<w:i/>" in subtitle) == ("text-emphasis" not in sheet) == (tag == "ko")
    assert rule in sheet
    assert ("text-emphasis-position: under" in sheet) == (tag == "zh-Hant")
    assert "<em>文字</em>" in body
    assert ('<em class="latin">Titanic</em>' in body) == bool(rule)


@pytest.mark.parametrize(("tag", "dots"), [("ja", "sesame"), ("zh", "dot")])
def test_emphasised_ideographs_have_dots_in_print_and_latin_words_are_italic(tag: str, dots: str) -> None:
    if not system_sources(tag):
        pytest.skip("This machine has no font with ideographs.")
    spans = (Span("文"), Span("字Titanic", italic=True), Span("太", bold=True), Span("両", bold=True, italic=True))
    words = WordMaker(Typeface("serif", tag)).words(spans)
    styles = {text: (style.css, style.dots) for token in words.tokens for text, style in token.pieces}

    assert styles == {"文": ("", ""), "字": ("", dots), "Titanic": ("i", ""), "太": ("b", ""), "両": ("b", dots)}


@pytest.mark.parametrize(("tag", "low", "high"), [("ja", 0.88, 1.4), ("zh", -0.4, -0.12)])
def test_each_emphasised_ideograph_has_a_dot_between_the_lines(tag: str, low: float, high: float, make: Make) -> None:
    if not system_sources(tag):
        pytest.skip("This machine has no font with ideographs.")
    book = render(make(f"{'文' * 40}、*強調、点*{'文' * 40}", language=tag), ExportSettings(line_spacing=1.0))
    (line,) = [(y, mark) for page in book.layout.pages for y, mark in body(page) if "強" in mark.line.text]
    page = setter_for(book.manuscript, book.settings).geometry
    with pikepdf.open(io.BytesIO(book.pdf)) as pdf:
        drawn = [drawing for drawing in map(dots_of, pdf.pages) if drawing]
    ((*dots,),) = drawn
    (_, *marks, _) = PdfText(book.pdf).artifacts

    assert len(dots) == len("強調点")
    heights = [(y - line[0]) / page.size for dot in dots for _, y in dot]
    assert low <= min(heights) < max(heights) <= high
    assert page.lead / page.size - 0.12 > high
    middles = [sum(x for x, _ in dot) / len(dot) for dot in dots]
    assert middles[1] - middles[0] == pytest.approx(page.size, abs=0.5)
    assert middles[2] - middles[1] == pytest.approx(2 * page.size, abs=0.5)
    assert not any(mark in "".join(marks) for mark in "﹅・•●")
    assert "強調、点" in "".join(PdfText(book.pdf).words())


def dots_of(page: pikepdf.Page) -> list[list[tuple[float, float]]]:
    """The points of each filled path of a page."""
    paths: list[list[tuple[float, float]]] = []
    for operands, operator in pikepdf.parse_content_stream(page):
        numbers = [float(each) for each in operands] if str(operator) in "mc" else []
        if str(operator) == "m":
            paths.append([])
        if numbers:
            paths[-1] += zip(numbers[::2], numbers[1::2], strict=True)
    return paths


@pytest.mark.parametrize(("shape", "place"), [("ja", "filled sesame"), ("zh", "under right")])
def test_the_preview_shows_the_dots(shape: str, place: str, make: Make) -> None:
    if not system_sources(shape):
        pytest.skip("This machine has no font with ideographs.")
    layout = render(make("文*字*文", language=shape)).layout
    shown = "".join(page["html"] for page in html_pages(layout))

    assert re.search(f'<span style="text-emphasis:[^"]*{place}">字</span>', shown)


@pytest.mark.parametrize(("tag", "alt"), [("ja", "夜、花子"), ("zh-Hant", "夜，花子"), ("ko", "夜, 花子")])
def test_the_covers_alt_text_has_the_comma_of_the_language(tag: str, alt: str, make: Make) -> None:
    book = replace(make("One.", language=tag), title="夜", author="花子", cover=red_picture())
    setter = setter_for(book, ExportSettings(), measuring=True)
    (cover,) = FrontMatter(setter, book, Element("Document")).cover(red_picture()).placed

    assert isinstance(cover.mark, Image)
    assert cover.mark.element.alt == alt
    assert f'descr="{alt}"'.encode() in in_word(book, "word/document.xml")
    with zipfile.ZipFile(io.BytesIO(write_epub(book, PAGES, ExportSettings()))) as package:
        assert f'alt="{alt}"'.encode() in package.read("EPUB/cover.xhtml")


def test_a_japanese_list_has_bullets_that_fill_the_em(make: Make) -> None:
    if not system_sources("ja"):
        pytest.skip("This machine has no font with ideographs.")
    book = render(make("文。\n\n- 親\n  - 子\n- 二\n\n文。", language="ja"))
    marks = [mark for page in book.layout.pages for _, mark in body(page)]
    edges = {mark.line.text: mark.x for mark in marks}
    items = [each for each in docx.Document(io.BytesIO(book.docx)).paragraphs if each.style.name == "Book List"]
    formats = [each.paragraph_format for each in items]
    with zipfile.ZipFile(io.BytesIO(book.epub)) as package:
        sheet = package.read("EPUB/style.css").decode()

    assert [mark.line.text for mark in marks][-7:] == ["・", "親", "・", "子", "・", "二", "文。"]
    assert [edges[text] for text in ("二", "親", "子")] == [21.0, 21.0, 42.0]
    assert [mark.x for mark in marks if mark.line.text == "・"] == [10.5, 31.5, 10.5]
    assert [each.text for each in items] == ["・親", "・子", "・二"]
    assert [each.left_indent.pt + each.first_line_indent.pt for each in formats] == [10.5, 31.5, 10.5]
    assert 'ul { list-style-type: "・" }' in sheet
    assert "list-style-type" not in style_sheet(ExportSettings(), language("zh")).decode()


@pytest.mark.parametrize(("tag", "notice"), [("ja", "© 2026 花子"), ("zh", "版权所有 © 2026 花子")])
def test_a_japanese_copyright_notice_begins_with_the_sign(tag: str, notice: str, make: Make) -> None:
    book = replace(make("One.", language=tag), year=2026, author="花子")

    assert copyright_paragraphs(book, ExportSettings(), language(tag))[0] == notice


def in_word(book: Manuscript, part: str, settings: ExportSettings | None = None) -> bytes:
    """A part of the book's Word file."""
    with zipfile.ZipFile(io.BytesIO(write_docx(book, PAGES, settings or ExportSettings()))) as package:
        return package.read(part)
