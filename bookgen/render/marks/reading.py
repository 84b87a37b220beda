"""Reads marks of origin from a PDF, an EPUB, a Word document, a JPEG, a PNG or a WebP."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree
from PIL import Image, UnidentifiedImageError
from pypdfium2 import PdfDocument, PdfiumError

from bookgen.errors import InvalidInput
from bookgen.render.docx.properties import CUSTOM_NAMESPACE
from bookgen.render.marks.jpeg import XMP_HEADER
from bookgen.render.marks.xmp import NAMESPACE, PROPERTY

PDF, EPUB = "application/pdf", "application/epub+zip"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MAX_PART_BYTES = 16 * 2**20
_IMAGES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_VOCABULARY = re.compile(r"https?://cv\.iptc\.org/newscodes/digitalsourcetype/(\w+)")
_PACKET = re.compile(rb"<\?xpacket begin=.*?<\?xpacket end=[^>]*\?>", re.DOTALL)
_NAME = f"{{{NAMESPACE}}}{PROPERTY}"
_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_UNREADABLE = "This file is not a readable PDF, EPUB, Word document, JPEG, PNG or WebP."


@dataclass(frozen=True, slots=True)
class OriginMark:
    """A mark of origin. `place`: where in the file it is. `term`: an IPTC term, such as `trainedAlgorithmicMedia`."""

    place: str
    term: str


@dataclass(frozen=True, slots=True)
class FileMarks:
    content_type: str
    found: tuple[OriginMark, ...]


def read_marks(data: bytes) -> FileMarks:
    """The marks of AI origin in the file. Raises InvalidInput if the file is damaged or of an unknown type."""
    try:
        if data.startswith(b"%PDF-"):
            return FileMarks(PDF, tuple(_in_pdf(data)))
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as package:
                return _in_package(package)
        with Image.open(io.BytesIO(data), formats=tuple(_IMAGES)) as image:
            image.load()
            found = _in_xmp(bytes(image.info.get("xmp", b"")), "XMP")
            return FileMarks(_IMAGES[str(image.format)], tuple(found))
    except (
        PdfiumError, zipfile.BadZipFile, UnidentifiedImageError, Image.DecompressionBombError, etree.XMLSyntaxError,
        KeyError, OSError, SyntaxError, NotImplementedError, zlib.error,
    ) as error:  # fmt: skip
        raise InvalidInput(_UNREADABLE) from error


def _in_pdf(data: bytes) -> Iterator[OriginMark]:
    """The mark of origin in a PDF. PDF/A keeps its XMP uncompressed, so the file's objects need not be parsed."""
    document = PdfDocument(data)
    try:
        yield from _of_uri(str(document.get_metadata_value(PROPERTY)), "document information")
    finally:
        document.close()
    packets = [each[0] for each in _PACKET.finditer(data) if not data.endswith(XMP_HEADER, 0, each.start())]
    yield from _in_xmp(packets[-1] if packets else b"", "XMP")


def _in_package(package: zipfile.ZipFile) -> FileMarks:
    if broken := package.testzip():
        raise zipfile.BadZipFile(broken)
    if "META-INF/container.xml" in package.namelist():
        return FileMarks(EPUB, tuple(_in_epub(package)))
    return FileMarks(DOCX, tuple(_in_docx(package)))


def _in_epub(package: zipfile.ZipFile) -> Iterator[OriginMark]:
    container = _part(package, "META-INF/container.xml")
    for root in container.iter("{*}rootfile"):
        opf = _part(package, str(root.get("full-path")))
        prefixes = re.findall(r"(\S+):\s+(\S+)", opf.get("prefix", ""))
        names = {f"{prefix}:{PROPERTY}" for prefix, namespace in prefixes if namespace == NAMESPACE}
        for meta in opf.iter("{*}meta"):
            if meta.get("property") in names:
                yield from _of_uri(str(meta.text), "package metadata")


def _in_docx(package: zipfile.ZipFile) -> Iterator[OriginMark]:
    relations = _part(package, "_rels/.rels")
    for relation in relations:
        if str(relation.get("Type")).endswith("/custom-properties"):
            properties = _part(package, posixpath.normpath(str(relation.get("Target")).lstrip("/")))
            for each in properties.iter(f"{{{CUSTOM_NAMESPACE}}}property"):
                if each.get("name") == PROPERTY:
                    yield from _of_uri("".join(map(str, each.itertext())), "document properties")


def _in_xmp(packet: bytes, place: str) -> Iterator[OriginMark]:
    """The marks of origin in an XMP packet. A mark may be an element's text, its resource, or an attribute."""
    if not packet:
        return
    for element in _parsed(packet).iter("*"):
        told = element.text or element.get(_RESOURCE) if element.tag == _NAME else element.get(_NAME)
        yield from _of_uri(str(told), place)


def _of_uri(uri: str, place: str) -> Iterator[OriginMark]:
    if match := _VOCABULARY.fullmatch(uri.strip()):
        yield OriginMark(place, match[1])


def _part(package: zipfile.ZipFile, name: str) -> Any:
    if package.getinfo(name).file_size > MAX_PART_BYTES:
        raise zipfile.BadZipFile(name)
    return _parsed(package.read(name))


def _parsed(xml: bytes) -> Any:
    return etree.fromstring(xml, etree.XMLParser(resolve_entities=False, no_network=True))
