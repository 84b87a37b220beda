"""Hostile or unexpected text gives a file or a clear refusal, never a crash."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace

import lxml.html
import orjson
import pikepdf
import pytest
from lxml import etree

from bench.render import corpus
from bench.render.corpus import Corpus
from bookgen.errors import InvalidInput
from bookgen.render.job import Job
from bookgen.render.layout.words import units
from bookgen.render.manuscript import manuscript
from bookgen.render.markdown import parse
from bookgen.render.model import Paragraph, Table
from bookgen.render.perform import perform
from bookgen.render.settings import ExportSettings
from tests.render.conftest import Make, render
from tests.render.reading import PdfText, docx_words, epub_words, manuscript_words

PROSE = "A plain sentence that stands between the others. " * 8
NESTED = "\n".join(f"{'  ' * level}- level {level}" for level in range(20))
QUOTES = "\n".join(f"{'>' * level} level {level}\n" for level in range(1, 25))
WIDE = "|" + " cell |" * 60 + "\n|" + "---|" * 60 + "\n|" + " x |" * 60

CASES = {
    "raw html": "<script>alert(1)</script>\n\n<img src=x onerror=y> <b>bold</b>\n\n<!-- gone? --> &lt; &amp; &nbsp;",
    "xml ends": "]]> and <![CDATA[ and <?xml version='1.0'?> and \"quoted\" & 'apostrophes'",
    "control characters": "a\x00b\x01c\x08d\x0be\x1ff\x7fg\u0085h\ufffeI\ufdd0J",
    "a long word": f"{PROSE}\n\n{'Donaudampfschiff' * 625}\n\n{PROSE}",
    "a long address": f"https://example.org/{'a/b-c?d=e&' * 300}",
    "deep lists": NESTED,
    "deep quotes": QUOTES,
    "a wide table": WIDE,
    "only breaks": "***\n\n---\n\n***",
    "only a heading": "# Part 1",
    "unclosed marks": "**bold *italic `code [link](http:// ![image](",
    "code": "```\n" + "x" * 400 + "\n\tindented\n\n```",
    "notes in notes": "a[^1] b[^2]\n\n[^1]: one[^2]\n\n[^2]: two[^1]\n\n[^3]: never called",
    "bidi controls": "a \u202ereversed\u202c b \u2066isolated\u2069 \u200bzero",
    "combining": "e" + "\u0301" * 60 + " Z\u0335\u0322",
    "emoji": "family 👨‍👩‍👧‍👦 flag 🇩🇪 skin 👍🏽 heart ❤️",
    "pdf syntax": "(paren \\) <hex> /Name [array] %comment endstream endobj BT ET ) Tj",
    "word fields": '{ HYPERLINK "x" } TOC \\o PAGE "',
    "javascript link": "[click](javascript:alert(1)) [data](data:text/html,x) [file](file:///etc/passwd)",
    "remote picture": "![alt text](https://example.org/x.png) after",
}


def table(rows: int) -> str:
    return "| a | b |\n|---|---|\n" + "\n".join(f"| row {n} | {n} |" for n in range(rows))


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_strange_text_is_exported_in_every_format(text: str, make: Make) -> None:
    manuscript = make(text, PROSE)
    rendered = render(manuscript)

    assert PdfText(rendered.pdf).words()
    assert docx_words(rendered.docx) == manuscript_words(manuscript, signs=False)
    assert epub_words(rendered.epub) == manuscript_words(manuscript, signs=False)
    assert well_formed(rendered.epub)


def test_a_table_of_a_thousand_rows_spans_as_many_pages_as_it_needs(make: Make) -> None:
    rendered = render(make(table(1_000)))

    assert len(rendered.layout.pages) > 20
    assert "999" in PdfText(rendered.pdf).words()


def test_a_title_of_three_hundred_characters_fits(make: Make) -> None:
    title = ("An uncommonly long title that goes on " * 8)[:300]
    rendered = render(make((title, PROSE * 20), title=title, subtitle=title))

    assert PdfText(rendered.pdf).words()
    with pikepdf.open(io.BytesIO(rendered.pdf)) as pdf:
        assert str(pdf.docinfo["/Title"]).startswith("An uncommonly long title")


def test_direction_marks_in_a_title_do_not_affect_what_is_next_to_it() -> None:
    book, chapters = corpus.book(Corpus("turned", chapters=1, words=20))
    turned = "\u202eA\u202c \u2067B\u2069\u200f"

    made = manuscript(
        replace(book, title=turned, subtitle=turned),
        [replace(chapters[0], title=turned)],
        author=turned,
        watermark=False,
    )

    assert {made.title, made.subtitle, made.author, made.chapters[0].title} == {"A B\u200f"}


def test_markup_in_titles_is_plain_text(make: Make) -> None:
    rendered = render(make(("<b>&amp; ]]>", PROSE), title="A <i>title</i> & more", subtitle='"Quoted"'))

    assert well_formed(rendered.epub)
    assert "<b>&amp;" in docx_words(rendered.docx)


def test_the_text_about_a_picture_breaks_no_file() -> None:
    asked = Corpus("pictured", chapters=1, words=200, rich=True)
    book, chapters = corpus.book(asked)
    told = {"alt": "a\uffffb", "caption": "c\u0001\nd"}
    pictures = [replace(each, **told, position=0) for each in corpus.illustrations(asked)[:1]]
    assert pictures

    made = render(manuscript(book, chapters, author="A", watermark=False, illustrations=pictures))

    for part in (*_parts(made.epub, ".xhtml"), *_parts(made.docx, ".xml")):
        etree.fromstring(part)
    assert b'alt="ab"' in b"".join(_parts(made.epub, ".xhtml"))
    assert made.pdf


def _parts(data: bytes, ending: str) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as files:
        return [files.read(name) for name in files.namelist() if name.endswith(ending)]


def test_no_script_and_no_external_address_gets_into_a_file(make: Make) -> None:
    rendered = render(make(CASES["javascript link"], CASES["raw html"], CASES["remote picture"]))

    with zipfile.ZipFile(io.BytesIO(rendered.epub)) as package:
        pages = b"".join(package.read(name) for name in package.namelist() if name.endswith("xhtml"))
    assert b"<script" not in pages
    assert b'href="javascript' not in pages
    assert b"<img" not in pages
    with pikepdf.open(io.BytesIO(rendered.pdf)) as pdf:
        assert not [each for page in pdf.pages for each in page.get("/Annots", []) if "/A" in each]


def test_a_character_without_a_font_is_refused_by_its_code_point(make: Make) -> None:
    with pytest.raises(InvalidInput, match=r"^No font has .* apt install fonts-noto-core") as refused:
        render(make("A line.", "A cuneiform sign: \U00012000")).pdf  # noqa: B018 (a property that works)

    assert "U+12000 CUNEIFORM SIGN A in chapter 2" in str(refused.value.details["content"])


@pytest.mark.parametrize(("kind", "read"), [("docx", docx_words), ("epub", epub_words)])
def test_files_without_embedded_fonts_accept_any_character(kind: str, read: Callable[[bytes], list[str]]) -> None:
    book, (chapter, *_) = corpus.book(Corpus("one", chapters=1, words=10))
    written = replace(chapter, content="A cuneiform sign: \U00012000")

    made = perform(Job(kind, book, [written], "A. Author", ExportSettings(), watermark=False))

    assert read(made)[-1] == "\U00012000"


def well_formed(epub: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(epub)) as package:
        for name in package.namelist():
            if name.endswith(("xhtml", "opf", "ncx", "xml")):
                etree.fromstring(package.read(name))
    return True


EXPLODING = {
    "open brackets": "[" * 400_000,
    "open pictures": "![" * 200_000,
    "notes within notes": "^[" * 100_000 + "x" + "]" * 100_000,
    "brackets within brackets": "[" * 100_000 + "]" * 100_000,
    "an open bracket a line": "[a\n" * 100_000,
    "many blocks of brackets": ("[" * 1_000 + "\n\n") * 300,
    "chained notes": "a[^0]\n\n" + "\n\n".join(f"[^{each}]: b[^{each + 1}]" for each in range(600)),
    "a ring of notes": "a[^0]\n\n" + "\n\n".join(f"[^{each}]: b[^{(each + 1) % 600}]" for each in range(600)),
}


@pytest.mark.parametrize("text", EXPLODING.values(), ids=EXPLODING.keys())
def test_exponential_markdown_is_read_quickly_as_plain_text(text: str) -> None:
    began = time.process_time()

    blocks, notes = parse(text, "A title", str)

    assert time.process_time() - began < 10  # more than an hour without the limits
    assert notes == ()
    typed = "".join(span.text for block in blocks if isinstance(block, Paragraph) for span in block.spans)
    assert "".join(typed.split()) == "".join(text.split())


@pytest.mark.parametrize("word", ["_-" * 20_000, f"{'_-' * 20_000}a-b"])
def test_a_long_word_of_dashes_is_divided_quickly(word: str) -> None:
    began = time.process_time()

    parts = units(word)

    assert time.process_time() - began < 1
    assert "".join(text for text, _ in parts) == word


# `manuscript` refuses the chapter before the format matters, so one format for each text is enough.
@pytest.mark.parametrize(
    ("text", "kind"),
    [("```\n" + "a\n" * 100_000, "pdf"), ("a\\\n" * 30_001, "epub")],
    ids=["code", "verse"],
)
def test_a_chapter_too_complex_to_render_is_refused_quickly_by_its_number(text: str, kind: str) -> None:
    book, chapters = corpus.book(Corpus("long", chapters=1, words=20))
    long = replace(chapters[0], chapter_number=7, content=text)
    began = time.process_time()

    with pytest.raises(InvalidInput, match=r"^Chapter 7 has .* Split the chapter\.$"):
        perform(Job(kind, book, [long], "A", ExportSettings(), watermark=False))

    assert time.process_time() - began < 10


@pytest.mark.parametrize("kind", ["pages", "pdf", "docx", "epub"])
def test_chained_notes_are_exported_in_every_format(kind: str) -> None:
    book, chapters = corpus.book(Corpus("notes", chapters=1, words=20))
    chained = replace(chapters[0], content=EXPLODING["chained notes"])

    assert perform(Job(kind, book, [chained], "A", ExportSettings(), watermark=False))


def test_many_links_and_some_nested_notes_are_still_markdown() -> None:
    links = "\n".join(f"| [one {each}](https://example.org/{each}) | [two][^{each}] |" for each in range(1_500))
    notes = "\n\n".join(f"[^{each}]: see [the next][^{each + 1}]" for each in range(40)) + "\n\n[^40]: last"

    blocks, found = parse(f"| a | b |\n|---|---|\n{links}\n\n[^0]\n\n{notes}", "A title", str)

    assert isinstance(blocks[0], Table)
    assert len(found) == 41


@pytest.mark.parametrize(
    "address",
    [
        "smb://files.example/share",
        "ftp://example.org/x",
        "//example.org/x",
        "ms-word:ofe|u|https://example.org/x",
        "intent://scan/#Intent",
        "tel:112",
        "HTTPS-evil:x",
        "x",
        "http://",
        "http://[z",
        "<http://a b/c>",
        "mailto:",
        "https://user:pa:ss@:99999/",
    ],
)
def test_only_web_and_mail_addresses_can_be_linked(address: str) -> None:
    blocks, _ = parse(f"[here]({address}) and [there](https://example.org/)", "A title", str)

    spans = [span for block in blocks if isinstance(block, Paragraph) for span in block.spans]
    assert [span.href for span in spans if span.text in ("here", "there")] == ["", "https://example.org/"]


def test_the_address_of_a_link_breaks_no_epub_page(make: Make) -> None:
    address = "https://example.org/?a=1&b=2&lt;=3"

    with zipfile.ZipFile(io.BytesIO(render(make(f"[here]({address})")).epub)) as package:
        page = etree.fromstring(package.read("EPUB/chapter001.xhtml"))

    (link,) = page.findall(".//{http://www.w3.org/1999/xhtml}p/{http://www.w3.org/1999/xhtml}a")
    assert link.get("href") == "https://example.org/?a=1&b=2%3C=3"


def test_markup_in_texts_is_shown_as_text_in_the_preview() -> None:
    book, chapters = corpus.book(Corpus("markup", chapters=1, words=20))
    typed = "<script>alert(1)</script> <img src=x onerror=alert(2)> &lt;b&gt; &amp;"
    chapter = replace(chapters[0], title="<i>Title</i>", content=f"{typed}\n\n> {typed}\n\n- {typed}")
    title = "<u>Book</u>"

    pages = orjson.loads(
        bytes(
            perform(Job("pages", replace(book, title=title), [chapter], "<s>A</s>", ExportSettings(), watermark=False))
        )
    )["pages"]

    root = lxml.html.fromstring("".join(page["html"] for page in pages))
    assert {element.tag for element in root.iter()} <= {"div", "span", "img"}
    assert not root.xpath("//img")
    assert "<script>" in root.text_content()
    assert "&lt;" not in root.text_content()
