"""The digital PDF for assistive technology: two PDF/UA-1 checkers that share no code report nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pikepdf
import pytest

from tests.render.conftest import Make, Rendered, render
from tests.render.reading import PdfText
from tests.render.test_settings import with_picture

LINKED = "See [the *old* harbour](https://example.org/a) and [it](https://example.org/a), there. " * 3


# Not required: one glyph for each Arabic letter, and a link outside its paragraph.
NOT_ASKED = ("TXT-004", "ORD-001")


def outloud_finds(file: Path) -> list[object]:
    import outloud  # imported here, as below, so that it loads only when needed

    result = outloud.check(str(file), skip=NOT_ASKED)
    broken = [rule for rule in result.runs if rule.status == "crashed"]
    found = [finding for finding in result.findings if finding.severity != "info"]
    return [each for each in (result.error, *broken, *found) if each]


def pdfua_finds(file: Path) -> list[object]:
    import pdfua

    return list(pdfua.validate(str(file)).findings)


@pytest.mark.parametrize("finds", [outloud_finds, pdfua_finds])
@pytest.mark.parametrize("case", ["rich", "pictures", "watermark", "from the right"])
def test_two_pdf_ua_checkers_report_nothing(finds, case: str, small: Rendered, make: Make, tmp_path: Path) -> None:
    file = tmp_path / "book.pdf"
    file.write_bytes(pdf(case, small, make))

    assert finds(file) == []


def pdf(case: str, small: Rendered, make: Make) -> bytes:
    match case:
        case "rich":
            return small.pdf
        case "pictures":
            return render(with_picture(make(LINKED))).pdf
        case "watermark":
            return render(make("#### Deep\n\n## Less\n\n1. One\n2. Two[^1]\n\n[^1]: A note.", watermark=True)).pdf
    return render(make("كان يا ما كان (في) قديم الزمان", language="ar")).pdf


def test_the_words_and_the_annotation_of_a_link_are_one_element_inside_its_paragraph(make: Make) -> None:
    read = PdfText(render(make(LINKED)).pdf)
    paragraph = next(node for node in read.tree.walk() if node.role == "P" and "See" in node.text)
    links = [kid for kid in paragraph.kids if kid.role == "Link"]
    annotations = [annotation for link in links for annotation in link.annotations]

    assert len(links) == len(annotations) >= 6
    assert paragraph.text.split()[:9] == ["See", "the", "old", "harbour", "and", "it,", "there.", "See", "the"]
    assert set(annotations) == {("https://example.org/a", "https://example.org/a")}


def test_headings_never_skip_a_level(make: Make) -> None:
    tree = PdfText(render(make("#### Deep\n\nA line.\n\n## High\n\n#### Deep again\n\nA line.")).pdf).tree
    levels = [node.role for section in tree.kids[1:] for node in section.walk() if node.role[0] == "H"]

    assert levels == ["H1", "H2", "H2", "H3"]


def test_column_headers_and_notes_can_be_found_by_assistive_software(small: Rendered) -> None:
    with pikepdf.open(io.BytesIO(small.pdf)) as opened:
        elements = [each for each in opened.objects if isinstance(each, pikepdf.Dictionary) and "/S" in each]
        scopes = {str(each.A.Scope) for each in elements if each.S == "/TH"}
        notes = [str(each.ID) for each in elements if each.S == "/Note"]
        names = opened.Root.StructTreeRoot.IDTree.Names

        assert scopes == {"/Column"}
        assert len(notes) == len(set(notes)) == len(names) // 2 > 0
