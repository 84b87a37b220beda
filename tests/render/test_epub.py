"""The inside of the EPUB: navigation, page list, accessibility."""

from __future__ import annotations

import io
import re
import zipfile

from lxml import etree

from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body
from tests.render.test_settings import with_picture

HTML = "{http://www.w3.org/1999/xhtml}"
TYPE = "{http://www.idpf.org/2007/ops}type"


def test_the_navigation_lists_chapters_landmarks_and_pages(small: Rendered) -> None:
    nav = navigation(small.epub)

    assert list(nav) == ["toc", "landmarks", "page-list"]
    assert nav["toc"] == [section.title for section in small.manuscript.chapters]
    assert nav["page-list"] == [start.label for start in small.layout.pagination.starts]


def test_page_markers_match_the_printed_pages(small: Rendered) -> None:
    page = text_of(small.epub, "EPUB/chapter002.xhtml")
    second = [start for start in small.layout.pagination.starts if start.chapter == 2][1]
    after = re.sub("<[^>]+>", " ", page.partition(f'id="p{second.label}"')[2].partition("</span>")[2])
    printed = next(each for each in small.printed.pages if each.label == second.label and each.kind == "chapter")
    first = next(placed.mark for placed in printed.placed if getattr(placed.mark, "element", None)).line  # type: ignore[union-attr]

    assert after.split()[:3] == first.text.split()[:3] or first.text.split()[1:4] == after.split()[:3]


def test_the_package_declares_its_accessibility(small: Rendered) -> None:
    package = text_of(small.epub, "EPUB/content.opf")

    for name in ("accessMode", "accessModeSufficient", "accessibilityFeature", "accessibilityHazard"):
        assert f"schema:{name}" in package
    assert "EPUB Accessibility 1.1" in package
    assert 'xml:lang="en-US"' in package
    assert 'property="source-of"' in package


def test_a_page_marker_precedes_the_first_word_of_its_page(make: Make) -> None:
    some = " ".join(f"*w{n}* and x{n}[^1] **y**z{n} 字" for n in range(300))
    rendered = render(make(f"{some}  \n{some}\n\n[^1]: A note."), ExportSettings(hyphenate=False))
    _, *marked = re.split(r'id="p(\d+)"[^>]*>', text_of(rendered.epub, "EPUB/chapter001.xhtml"))
    printed = {
        page.label: body(page)[0][1].line.text.split()[0]
        for page in rendered.layout.pages
        if page.kind == "chapter" and page.label != "1" and body(page)
    }

    assert len(printed) > 10
    after = dict(zip(marked[2::2], marked[3::2], strict=True))
    assert {label: re.sub("<[^>]+>", "", text).split()[0] for label, text in after.items()} == printed


def test_the_identifier_belongs_to_the_book_and_never_changes(make: Make) -> None:
    first, second = (text_of(render(make("A line.")).epub, "EPUB/content.opf") for _ in range(2))
    other = text_of(render(make("A line.", title="Another")).epub, "EPUB/content.opf")

    assert identifier(first) == identifier(second) != identifier(other)


def test_a_note_is_an_aside_with_a_link_back(make: Make) -> None:
    page = text_of(render(make("Called.[^1]\n\n[^1]: The note.")).epub, "EPUB/chapter001.xhtml")

    assert 'epub:type="noteref"' in page
    assert re.search(r'<aside id="(c1n0)" epub:type="footnote" role="doc-footnote"><p>The note.', page)
    assert 'href="#c1n0"' in page
    assert 'href="#c1r0"' in page


def test_the_cover_has_alt_text(make: Make) -> None:
    page = text_of(render(with_picture(make("A line."))).epub, "EPUB/cover.xhtml")

    assert 'alt="The Patient Harbour, Ingrid Lindqvist"' in page


def test_a_right_to_left_book_turns_its_pages_that_way(make: Make) -> None:
    epub = render(make("كان يا ما كان", language="ar")).epub

    assert 'page-progression-direction="rtl"' in text_of(epub, "EPUB/content.opf")
    assert 'dir="rtl"' in text_of(epub, "EPUB/chapter001.xhtml")


def test_a_font_that_readers_lack_is_embedded(make: Make) -> None:
    with zipfile.ZipFile(io.BytesIO(render(make("A line."), ExportSettings(font="dyslexic")).epub)) as package:
        fonts = [name for name in package.namelist() if name.endswith(".ttf")]
        sheet = package.read("EPUB/style.css").decode()

    assert len(fonts) == 4
    assert sheet.count("@font-face") == 4


def test_the_contents_page_can_be_excluded_from_the_reading_order(make: Make) -> None:
    package = text_of(render(make("A line."), ExportSettings(include_toc=False)).epub, "EPUB/content.opf")

    assert '<itemref idref="nav"' not in package


def navigation(epub: bytes) -> dict[str, list[str]]:
    root = parsed(text_of(epub, "EPUB/nav.xhtml"))
    return {nav.get(TYPE): [link.text for link in nav.iter(f"{HTML}a")] for nav in root.iter(f"{HTML}nav")}


def parsed(page: str) -> etree._Element:
    return etree.fromstring(page.encode())


def text_of(epub: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(epub)) as package:
        return package.read(name).decode("utf-8")


def identifier(package: str) -> str:
    return re.findall(r"urn:uuid:[0-9a-f-]+", package)[0]


def test_all_readers_are_told_to_hyphenate_text_but_not_verse(make: Make) -> None:
    def sheet(settings: ExportSettings) -> str:
        return zipfile.ZipFile(io.BytesIO(render(make("A line."), settings).epub)).read("EPUB/style.css").decode()

    for name in ("hyphens", "-webkit-hyphens", "-epub-hyphens", "adobe-hyphenate"):
        assert f" {name}: auto;" in sheet(ExportSettings())
        assert f" {name}: none;" in next(line for line in sheet(ExportSettings()).splitlines() if "verse {" in line)
        assert f"{name}: auto" not in sheet(ExportSettings(hyphenate=False))


def test_the_accessibility_summary_names_its_own_language(make: Make) -> None:
    package = text_of(render(make("Eine Zeile.", language="de")).epub, "EPUB/content.opf")

    assert 'property="schema:accessibilitySummary" xml:lang="en"' in package
