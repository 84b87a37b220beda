"""Every file and picture declares how it was made, in the standard place of its format."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace

import pikepdf
import pytest
from lxml import etree
from PIL import Image

from bench.render import corpus
from bench.render.corpus import Corpus
from bookgen.models import SourceType
from bookgen.render.job import Job
from bookgen.render.layout.compose import Composer
from bookgen.render.marks.jpeg import with_mark
from bookgen.render.model import Manuscript, Picture
from bookgen.render.pdf.wrap import write_wrap
from bookgen.render.pictures import covering, extended, grey, inked, printable, reduced
from bookgen.render.settings import ExportSettings
from bookgen.services.credentials import CredentialSigner, new_identity
from tests.render.conftest import Make, render
from tests.render.test_settings import red_picture, with_picture
from tests.render.test_spreads import made, picture_book

URI = "http://cv.iptc.org/newscodes/digitalsourcetype/{}"
XMP = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType"


def in_pdf(file: bytes) -> str | None:
    with pikepdf.open(io.BytesIO(file)) as pdf, pdf.open_metadata() as metadata:
        return metadata.get(XMP)


def in_document_information(file: bytes) -> str | None:
    with pikepdf.open(io.BytesIO(file)) as pdf:
        found = pdf.docinfo.get("/DigitalSourceType")
        return None if found is None else str(found)


def in_epub(file: bytes) -> str | None:
    with zipfile.ZipFile(io.BytesIO(file)) as epub:
        package = etree.fromstring(epub.read("EPUB/content.opf"))
    [prefixes] = package.xpath("@prefix")
    found = package.xpath("//*[local-name()='meta'][@property='Iptc4xmpExt:DigitalSourceType']/text()")
    assert bool(found) == ("Iptc4xmpExt: http://iptc.org/std/Iptc4xmpExt/2008-02-29/" in prefixes)
    return found[0] if found else None


def in_docx(file: bytes) -> str | None:
    with zipfile.ZipFile(io.BytesIO(file)) as package:
        relations = etree.fromstring(package.read("_rels/.rels"))
        targets = relations.xpath("//@Target[../@Type[contains(., '/custom-properties')]]")
        if not targets:
            assert "docProps/custom.xml" not in package.namelist()
            return None
        properties = etree.fromstring(package.read(targets[0].lstrip("/")))
        types = package.read("[Content_Types].xml").decode()
    assert "custom-properties+xml" in types
    [found] = properties.xpath("//*[@name='DigitalSourceType']/*/text()")
    return str(found)


def in_picture(data: bytes) -> str | None:
    with Image.open(io.BytesIO(data)) as image:
        packet = image.info.get("xmp")
    return etree.fromstring(packet).findtext(f".//{XMP}") if packet else None


READERS: dict[str, Callable[[bytes], str | None]] = {"pdf": in_pdf, "epub": in_epub, "docx": in_docx}


def signed_picture() -> Picture:
    """A picture as the service stores it."""
    marked = with_mark(red_picture(), SourceType.MODEL)
    return replace(marked, data=CredentialSigner(new_identity()).signed(marked.data, SourceType.MODEL))


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("source", [*SourceType, None])
def test_a_file_declares_the_origin_of_its_manuscript(kind: str, source: SourceType | None, make: Make) -> None:
    file: bytes = getattr(render(replace(make("A line."), source=source)), kind)

    assert READERS[kind](file) == (URI.format(source.value) if source else None)


@pytest.mark.parametrize("kind", ["epub", "docx"])
def test_a_signed_picture_keeps_its_signature_in_the_file(kind: str, make: Make) -> None:
    picture = signed_picture()

    with zipfile.ZipFile(io.BytesIO(getattr(render(with_picture(make("A line."), picture)), kind))) as package:
        pictures = [package.read(name) for name in package.namelist() if name.endswith((".jpg", ".jpeg"))]

    assert picture.data in pictures


@pytest.mark.parametrize("kind", READERS)
def test_a_picture_book_declares_its_origin(kind: str) -> None:
    file = made(kind, replace(picture_book(), source=SourceType.PARTLY_MODEL))

    assert READERS[kind](file) == URI.format("compositeWithTrainedAlgorithmicMedia")


@pytest.mark.parametrize("source", [SourceType.MODEL, None])
def test_print_files_declare_it_in_the_document_information(source: SourceType | None, make: Make) -> None:
    text, settings = replace(make("A line."), source=source), ExportSettings(profile="print")

    files = [render(text, settings).pdf, write_wrap(text, 120, settings)]

    expected = URI.format("trainedAlgorithmicMedia") if source else None
    assert [in_document_information(file) for file in files] == [expected, expected]


def test_the_mark_changes_only_the_metadata(make: Make) -> None:
    text = make("A line.")

    assert drawn(replace(text, source=SourceType.MODEL)) == drawn(text)


def test_files_with_different_marks_are_cached_separately() -> None:
    book, chapters = corpus.book(Corpus("kept", chapters=1, words=50))
    jobs = [Job("pdf", book, chapters, "A", ExportSettings(), False, source=each) for each in (*SourceType, None)]

    assert len({job.digest for job in jobs}) == len(jobs)


def drawn(text: Manuscript) -> list[bytes]:
    layout = Composer(text, ExportSettings()).layout()
    assert layout.pages
    with pikepdf.open(io.BytesIO(render(text).pdf)) as pdf:
        return [page.Contents.read_bytes() for page in pdf.pages]


@pytest.mark.parametrize("source", SourceType)
def test_marking_a_picture_does_not_change_its_pixels(source: SourceType) -> None:
    plain = red_picture()

    marked = with_mark(plain, source)

    assert in_picture(plain.data) is None
    assert in_picture(marked.data) == URI.format(source.value)
    assert (marked.width, marked.height) == (plain.width, plain.height)
    assert marked.data[:20] == plain.data[:20]
    assert marked.data.endswith(plain.data[20:])


CONVERSIONS: dict[str, Callable[[Picture], Picture]] = {
    "grey": grey,
    "inked": inked,
    "wider": lambda picture: extended(picture, 400, 300),
    "taller": lambda picture: extended(picture, 200, 400),
    "covering": lambda picture: covering(picture, 300, 300, printed=True),
    "printable": lambda picture: printable(picture, 400),
    "reduced": lambda picture: reduced(picture, 300),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_picture_converted_for_a_file_keeps_its_mark(name: str) -> None:
    marked = with_mark(red_picture(), SourceType.MODEL)

    converted = CONVERSIONS[name](marked)

    assert converted.data != marked.data
    assert in_picture(converted.data) == URI.format("trainedAlgorithmicMedia")
    assert in_picture(CONVERSIONS[name](red_picture()).data) is None
