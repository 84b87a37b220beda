"""The contents of a collection list its poems."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import docx
import pikepdf
import pytest

from bookgen.render.layout.page import Layout
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, Rendered, render
from tests.render.measuring import body, overlaps
from tests.render.reading import Node, PdfText, W
from tests.render.test_docx import of_style
from tests.render.test_epub import HTML, navigation, parsed, text_of

STANZA = "Not drink.\nNot boys."
LONG = "\n".join(["A line of a poem that fills pages"] * 60)
TITLES = ["Shed", "Mud", "Key", "Tide", "Neap"]


@pytest.fixture
def collection(make: Make) -> Rendered:
    first = f"## Mud\n\n{LONG}\n\n## *Key*[^1]\n\n### I\n\n{STANZA}\n\n[^1]: A note."
    return render(make(("Shed", first), ("Tide", f"## Neap\n\n{STANZA}"), genre="Poetry"))


@pytest.mark.parametrize("profile", ["layout", "printed"])
def test_the_contents_give_the_page_of_each_poem(profile: str, collection: Rendered) -> None:
    layout: Layout = getattr(collection, profile)
    contents = [page for page in layout.pages if page.kind == "toc"]
    pages = {anchor: page.label for page in layout.pages for anchor in page.anchors}
    links = [link for page in contents for link in page.links]
    _, *texts = [mark.line.text for page in contents for _, mark in body(page)]

    assert [text for text in texts if not text.isdigit()] == [link.title for link in links] == TITLES
    assert texts == ["Shed", "1", "Mud", "1", "Key", pages["poem-1-2"], *texts[6:]]
    assert pages["poem-1-2"] not in ("1", "2")
    assert [link.anchor for link in links] == ["chapter-1", "poem-1-1", "poem-1-2", "chapter-2", "poem-2-1"]


def test_every_poem_is_on_the_page_that_its_link_leads_to(collection: Rendered) -> None:
    shown = {
        anchor: [mark.line.text.strip("0123456789") for _, mark in body(page)]
        for page in collection.layout.pages
        for anchor in page.anchors
    }

    assert all(poem.title in shown[poem.anchor] for section in collection.manuscript.chapters for poem in section.poems)


def test_poems_are_tagged_as_contents_within_the_entry_of_their_chapter(collection: Rendered) -> None:
    (contents,) = [node for node in PdfText(collection.pdf).tree.walk() if node.role == "Sect"][:1]
    (outer,) = [node for node in contents.kids if node.role == "TOC"]
    inner = [kid for entry in outer.kids for kid in entry.kids if kid.role == "TOC"]

    assert [[kid.role for kid in entry.kids] for entry in outer.kids] == [["Reference", "TOC"]] * 2
    assert [[text(kid) for kid in each.kids] for each in inner] == [["Mud 1", "Key 3"], ["Neap 4"]]
    assert {kid.role for each in inner for kid in each.kids} == {"TOCI"}


def text(node: Node) -> str:
    return "".join(each.text for each in node.walk())


def test_the_outline_has_the_poems_below_their_chapter(collection: Rendered) -> None:
    with pikepdf.open(io.BytesIO(collection.pdf)) as pdf, pdf.open_outline() as outline:
        found = [(str(item.title), [str(inner.title) for inner in item.children]) for item in outline.root]
        count = pdf.Root.Outlines.Count

    assert found == [("Shed", ["Mud", "Key"]), ("Tide", ["Neap"])]
    assert count == 5


def test_a_word_document_lists_poems_below_their_chapter(collection: Rendered) -> None:
    document = docx.Document(io.BytesIO(collection.docx))
    marks = {each.get(f"{W}name"): each.getparent() for each in document.element.iter(f"{W}bookmarkStart")}
    entries = of_style(document, "toc 2")
    targets = [marks[link.get(f"{W}anchor")] for entry in entries for link in entry._p.iter(f"{W}hyperlink")]
    numbers = [each.get(f"{W}id") for each in document.element.iter(f"{W}bookmarkStart")]

    assert [text_with_fields(entry._p) for entry in entries] == ["Mud1", "Key3", "Neap4"]  # as in the PDF
    assert [text_with_fields(target) for target in targets] == ["Mud", "Key", "Neap"]
    assert len(set(numbers)) == len(numbers) == 5


def text_with_fields(paragraph: object) -> str:
    return "".join(each.text or "" for each in paragraph.iter(f"{W}t"))  # type: ignore[attr-defined]


def test_the_navigation_of_an_epub_has_the_poems_within_their_chapter(collection: Rendered) -> None:
    nav = parsed(text_of(collection.epub, "EPUB/nav.xhtml"))
    inner = [[link.text for link in each.iter(f"{HTML}a")] for each in nav.iter(f"{HTML}ol") if within_entry(each)]
    ncx = re.findall(r"<text>([^<]*)</text>", text_of(collection.epub, "EPUB/toc.ncx"))

    assert navigation(collection.epub)["toc"] == ncx[1:] == TITLES
    assert inner == [["Mud", "Key"], ["Neap"]]
    assert list(headings(collection, nav.iter(f"{HTML}a"))) == ["Mud", "Key", "Neap"]


def test_a_poem_of_an_epub_begins_a_page_where_it_does_in_print(make: Make) -> None:
    long = "\n\n".join([STANZA] * 4)
    book = render(make(("Shed", f"## Mud\n\n{long}\n\n## Key\n\n{long}"), genre="Poetry"))
    page = parsed(text_of(book.epub, "EPUB/chapter001.xhtml"))
    style = text_of(book.epub, "EPUB/style.css")

    found = {"".join(each.itertext()): each.get("class") for each in page.iter(f"{HTML}h2")}
    assert found == {"Mud": None, "Key": "begins-page"}
    assert ".begins-page { break-before: page;" in style


def within_entry(element: object) -> bool:
    return element.getparent().tag == f"{HTML}li"  # type: ignore[attr-defined]


def headings(book: Rendered, links: Iterator[object]) -> Iterator[str]:
    """The headings that the links lead to, without their note numbers."""
    for link in links:
        file, _, place = link.get("href").partition("#")  # type: ignore[attr-defined]
        if place.startswith("poem"):
            page = parsed(text_of(book.epub, f"EPUB/{file}"))
            (heading,) = [each for each in page.iter() if each.get("id") == place]
            yield "".join(heading.itertext()).strip("0123456789")


def test_a_chapter_that_is_one_poem_is_listed_once(make: Make) -> None:
    book = render(make(("Mud", f"*For Wren*\n\n## MUD\n\n{STANZA}"), ("Tide", STANZA), genre="Poetry"))

    assert navigation(book.epub)["toc"] == ["Mud", "Tide"]


@pytest.mark.parametrize(
    ("headings", "listed"),
    [
        (["I", "II"], ["Shed", "Tide"]),
        (["1.", "2.", "10."], ["Shed", "Tide"]),
        (["Mud", "i", "ii", "Key", "(iii)", "§ 4"], ["Shed", "Mud", "Key", "Tide"]),
        (["SHED", "I", "II"], ["Shed", "Tide"]),
        (["I. Mud", "1962", "Mix", "VIM", "II"], ["Shed", "I. Mud", "1962", "Mix", "VIM", "Tide"]),
    ],
)
def test_numbered_parts_of_a_poem_are_not_listed(headings: list[str], listed: list[str], make: Make) -> None:
    parts = "\n\n".join(f"## {heading}\n\n{STANZA}" for heading in headings)
    book = render(make(("Shed", parts), ("Tide", STANZA), genre="Poetry"))

    assert navigation(book.epub)["toc"] == listed


def test_poems_below_numbered_parts_are_listed(make: Make) -> None:
    book = render(make(("Shed", f"## I\n\n### Mud\n\n{STANZA}\n\n## II\n\n### Key\n\n{STANZA}"), genre="Poetry"))

    assert navigation(book.epub)["toc"] == ["Shed", "Mud", "Key"]


def test_headings_of_prose_are_not_listed(make: Make) -> None:
    book = render(make(("Shed", f"## Mud\n\n{STANZA}"), ("Tide", f"## Neap\n\n{STANZA}")))

    assert navigation(book.epub)["toc"] == ["Shed", "Tide"]


@pytest.mark.parametrize(
    ("title", "listed"), [("The Patient Harbour", ["Mud", "Key"]), ("Shed", ["Shed", "Mud", "Key"])]
)
def test_a_book_of_one_chapter_lists_its_poems(title: str, listed: list[str], make: Make) -> None:
    book = render(make((title, f"## Mud\n\n{STANZA}\n\n## Key\n\n{STANZA}"), genre="Poetry"))
    document = docx.Document(io.BytesIO(book.docx))
    entries = [*of_style(document, "toc 1"), *of_style(document, "toc 2")]

    assert [link.title for page in book.layout.pages for link in page.links] == listed
    assert [text_with_fields(entry._p).strip("1") for entry in entries] == listed
    assert navigation(book.epub)["toc"] == [title, "Mud", "Key"]


def test_a_book_of_one_poem_has_no_contents(make: Make) -> None:
    book = render(make(("Shed", f"## Mud\n\n{STANZA}"), genre="Poetry"))

    assert "toc" not in {page.kind for page in book.layout.pages}


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("poems", range(16, 28))  # from one page of contents to two
def test_no_page_of_the_contents_ends_with_a_chapter_or_begins_with_a_last_poem(
    poems: int, language: str, make: Make
) -> None:
    long = "A title that is much longer than the line that it is given in the contents of this book, so it is turned"
    first = "\n\n".join(f"## Poem {poem} {long * (poem == 2)}\n\n{STANZA}" for poem in range(poems))
    rest = f"## Poem\n\n{STANZA}\n\n## Last\n\n{STANZA}"
    book = render(make(("Shed", first), ("Tide", rest), genre="Poetry", language=language, trim="5x8"))
    contents = [page for page in book.layout.pages if page.kind == "toc"]

    assert contents[0].links[-1].title != "Tide"
    assert contents[-1].links[0].title != "Last"
    assert not any(map(overlaps, contents))


def test_the_contents_of_a_collection_may_leave_out_page_numbers(make: Make) -> None:
    chapters = [("Shed", f"## Mud\n\n{STANZA}"), ("Tide", STANZA)]
    book = render(make(*chapters, genre="Poetry"), ExportSettings(page_numbers=False))
    (contents,) = [page for page in book.layout.pages if page.kind == "toc"]

    assert [mark.line.text for _, mark in body(contents)][1:] == ["Shed", "Mud", "Tide"]


def poem(title: str, *stanzas: int) -> str:
    """A poem of stanzas with so many lines each."""
    lines = ("\n".join(f"{title} {number} {line}" for line in range(count)) for number, count in enumerate(stanzas))
    return f"## {title}\n\n" + "\n\n".join(lines)


def test_a_poem_longer_than_a_page_begins_on_a_new_one_and_is_divided_between_stanzas(make: Make) -> None:
    text = "\n\n".join((poem("Mud", 4), poem("Roost", 9, 1, 12, 13, 11), poem("Key", 4)))
    layout = render(make(("Shed", text), ("Tide", STANZA), genre="Poetry")).layout
    pages = [[mark.line.text for _, mark in body(page) if mark.element.role == "P"] for page in layout.pages]
    set_pages = [page for page in pages if page and page[0].startswith(("Mud", "Roost", "Key"))]
    stanzas = [{line.rpartition(" ")[0] for line in page} for page in set_pages]

    assert stanzas[0] == {"Mud 0"}
    assert sum(map(len, stanzas)) == 1 + 5 + 1  # each stanza is on one page
    assert all(any("Roost" in stanza for stanza in page) for page in stanzas[1:3])


def test_each_poem_begins_a_page_but_very_short_ones_may_share_one(make: Make) -> None:
    poems = [poem("Mud", 9), poem("Roost", 4, 3), poem("Key", 3), poem("Neap", 3, 5), poem("Ebb", 3), poem("Slack", 9)]
    book = render(make(("Shed", "\n\n".join(poems)), ("Tide", STANZA), genre="Poetry"))
    pages = [page.anchors for page in book.layout.pages if page.anchors]
    document = docx.Document(io.BytesIO(book.docx))
    titles = {each.text: bool(each.paragraph_format.page_break_before) for each in of_style(document, "Heading 2")}

    assert pages == [
        ["chapter-1", "poem-1-1"],
        ["poem-1-2", "poem-1-3"],
        ["poem-1-4"],
        ["poem-1-5"],
        ["poem-1-6"],
        ["chapter-2"],
    ]
    assert titles == {"Mud": False, "Roost": True, "Key": False, "Neap": True, "Ebb": True, "Slack": True}


def test_a_poem_below_one_with_the_title_of_the_chapter_begins_a_page(make: Make) -> None:
    layout = render(make(("Mud", f"{poem('Mud', 9)}\n\n{poem('Roost', 4)}"), genre="Poetry")).layout

    assert [page.anchors for page in layout.pages if page.anchors] == [["chapter-1"], ["poem-1-1"]]


@pytest.mark.parametrize(("lines", "shares"), [(4, True), (5, False), (12, False)])
def test_a_poem_below_one_with_the_title_of_the_chapter_shares_its_page_if_both_are_short(
    lines: int, make: Make, *, shares: bool
) -> None:
    opening = poem("Mud", 4).partition("\n\n")[2]
    text = "\n\n".join((opening, poem("Roost", lines), poem("Key", 9)))
    layout = render(make(("Mud", text), ("Tide", STANZA), genre="Poetry")).layout
    first = next(page for page in layout.pages if "chapter-1" in page.anchors)

    assert ("poem-1-1" in first.anchors) is shares


def test_a_chapters_first_poem_begins_below_its_epigraph(make: Make) -> None:
    text = f"*For Wren*\n\n{poem('Roost', 9, 12, 13, 11)}"
    layout = render(make(("Shed", text), ("Tide", STANZA), genre="Poetry")).layout
    first = next(page for page in layout.pages if "chapter-1" in page.anchors)

    assert {"For Wren", "Roost", "Roost 0 0"} <= {mark.line.text for _, mark in body(first)}


def test_titled_sections_of_a_book_of_verse_have_no_chapter_numbers(make: Make) -> None:
    book = render(make(("Shed", poem("Mud", 4)), ("", poem("Key", 4)), genre="Poetry"))
    shown = [mark.line.text for page in book.layout.pages for _, mark in body(page)]

    assert "Shed" in shown
    assert [text for text in shown if text.startswith("Chapter")] == ["Chapter 2", "Chapter 2"]  # and in the contents
