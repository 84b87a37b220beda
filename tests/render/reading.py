"""Reads finished files back, using none of our code except the original text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pikepdf
from lxml import etree

from bookgen.render.locales import language
from bookgen.render.model import (
    Block,
    Code,
    Figure,
    Heading,
    ItemList,
    Manuscript,
    Paragraph,
    Quote,
    SceneBreak,
    Spans,
    Table,
    Verse,
)

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
SOFT_HYPHEN = "\u00ad"


def manuscript_words(manuscript: Manuscript, *, signs: bool = True) -> list[str]:
    """Every word of the chapters in order, followed by their notes. `signs`: include note numbers and list markers."""
    words: list[str] = []
    for section in manuscript.chapters:
        label = language(manuscript.language).chapter.format(section.number) if section.numbered else ""
        words += f"{label} {section.title}".split() if signs else section.title.split()
        words += [word for text in _texts(section.blocks, signs) for word in text.split()]
        for number, blocks in enumerate(section.notes, 1):
            note = " ".join(_texts(blocks, signs))
            words += f"{number} {note}".split() if signs else note.split()
    return words


def _texts(blocks: Sequence[Block], signs: bool) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph(spans) | Heading(_, spans):
                yield _text(spans, signs)
            case Quote(inner):
                yield from _texts(inner, signs)
            case ItemList(items, start):
                for number, item in enumerate(items):
                    if signs:
                        yield "•" if start is None else f"{start + number}."
                    yield from _texts(item, signs)
            case Verse(lines):
                yield from (_text(line, signs) for line in lines)
            case Code(lines):
                yield from lines
            case Table(_, head, rows):
                yield from (_text(cell, signs) for row in (head, *rows) for cell in row)
            case Figure(caption=caption):
                yield _text(caption, signs)
            case SceneBreak():
                pass


def _text(spans: Spans, signs: bool) -> str:
    return "".join(str(span.note + 1) * signs if span.note is not None else span.text for span in spans)


# PDF


@dataclass
class Node:
    """A structure element with its own text, its children, and the addresses and descriptions of its links."""

    role: str
    text: str = ""
    alt: str = ""
    kids: list[Node] = field(default_factory=list)
    annotations: list[tuple[str, str]] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        yield self
        for kid in self.kids:
            yield from kid.walk()


class PdfText:
    """Text by marked content, as a reader that follows the structure tree presents it."""

    def __init__(self, data: bytes) -> None:
        with pikepdf.open(io.BytesIO(data)) as pdf:
            self._maps: dict[tuple[int, int], dict[int, str]] = {}
            self._marked: dict[tuple[int, int], str] = {}
            self._pages = {page.obj.objgen: index for index, page in enumerate(pdf.pages)}
            self.artifacts = [self._read(index, page) for index, page in enumerate(pdf.pages)]
            self.tree = self._node(pdf.Root.StructTreeRoot.K[0], None)

    def words(self) -> list[str]:
        """The words of the chapters. Front matter is the first section."""
        sections = self.tree.kids[1:]
        texts = [node.text for section in sections for node in section.walk()]
        return [word for text in texts for word in text.replace("\u00a0", " ").split()]

    def _node(self, element: Any, page: int | None) -> Node:
        if "/Pg" in element:
            page = self._pages[element.Pg.objgen]
        node = Node(str(element.S)[1:], alt=str(element.get("/Alt", "")))
        kids = element.K
        for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
            if isinstance(kid, int):
                assert page is not None
                node.text += self._marked.get((page, kid), "")
            elif kid.get("/Type") == "/MCR":
                node.text += self._marked.get((self._pages[kid.Pg.objgen], int(kid.MCID)), "")
            elif kid.get("/Type") == "/OBJR":
                node.annotations.append((str(kid.Obj.get("/A", {}).get("/URI", "")), str(kid.Obj.Contents)))
            else:
                inner = self._node(kid, page)
                if inner.role == "Link" and node.role != "Reference":  # it is inside a paragraph
                    node.text += inner.text
                    inner.text = ""
                node.kids.append(inner)
        return node

    def _read(self, index: int, page: pikepdf.Page) -> str:
        """Read the marked content. Returns the page's artifacts."""
        fonts = {name: self._map(font) for name, font in page.Resources.get("/Font", {}).items()}
        marks: list[tuple[int | None, str | None]] = []
        current: dict[int, str] = {}
        furniture: list[str] = []
        for operands, operator in pikepdf.parse_content_stream(page):
            match str(operator):
                case "BMC":
                    marks.append((None, None))
                case "BDC":
                    marks.append(_mark(operands[1], marks))
                case "EMC":
                    number, actual = marks.pop()
                    if actual is not None:
                        self._put(index, number, actual, furniture)
                case "Tf":
                    current = fonts[str(operands[0])]
                case "TJ" if not any(actual is not None for _, actual in marks):
                    text = "".join(_decoded(each, current) for each in operands[0] if isinstance(each, pikepdf.String))
                    self._put(index, marks[-1][0] if marks else None, text, furniture)
        return " ".join(furniture)

    def _put(self, page: int, number: int | None, text: str, furniture: list[str]) -> None:
        text = text.replace(SOFT_HYPHEN, "")
        if number is None:
            furniture.append(text)
        else:
            self._marked[page, number] = self._marked.get((page, number), "") + text

    def _map(self, font: Any) -> dict[int, str]:
        key = font.objgen
        if key not in self._maps:
            source = font.ToUnicode.read_bytes().decode("ascii")
            pairs = re.findall(r"<([0-9A-F]{4})> <([0-9A-F]+)>", source)
            self._maps[key] = {int(code, 16): bytes.fromhex(text).decode("utf-16-be") for code, text in pairs}
        return self._maps[key]


def _mark(properties: Any, marks: list[tuple[int | None, str | None]]) -> tuple[int | None, str | None]:
    outer = marks[-1][0] if marks else None
    if "/ActualText" in properties:
        return outer, str(properties.ActualText)
    return (int(properties.MCID) if "/MCID" in properties else None), None


def _decoded(shown: pikepdf.String, font: dict[int, str]) -> str:
    data = bytes(shown)
    return "".join(font.get(int.from_bytes(data[at : at + 2], "big"), "") for at in range(0, len(data), 2))


# DOCX


def docx_words(data: bytes) -> list[str]:
    """The words of the chapters, each followed by its notes."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        body = etree.fromstring(package.read("word/document.xml"))[0]
        notes = _docx_notes(package)
    words: list[str] = []
    called: list[str] = []
    started = False
    for paragraph in body.iter(f"{W}p"):
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        name = style.get(f"{W}val") if style is not None else ""
        if name == "Heading1":
            words += _noted(called, notes)
            started = True
        if not started or name in ("SceneBreak", "ChapterNumber"):
            continue
        called += [each.get(f"{W}id") for each in paragraph.iter(f"{W}footnoteReference")]
        words += _paragraph_text(paragraph, name == "BookList").split()
    return words + _noted(called, notes)


def _noted(called: list[str], notes: dict[str, str]) -> list[str]:
    words = [word for number in called for word in notes[number].split()]
    called.clear()
    return words


def _docx_notes(package: zipfile.ZipFile) -> dict[str, str]:
    if "word/footnotes.xml" not in package.namelist():
        return {}
    root = etree.fromstring(package.read("word/footnotes.xml"))
    return {
        note.get(f"{W}id"): "".join(each.text or "" for each in note.iter(f"{W}t") if not _is_sign(each))
        for note in root
    }


def _is_sign(text: Any) -> bool:
    """Whether this is the number of a note that has been called before."""
    style = text.getparent().find(f"{W}rPr/{W}rStyle")
    return style is not None and style.get(f"{W}val") == "FootnoteReference"


def _paragraph_text(paragraph: Any, in_list: bool) -> str:
    out = ""
    for element in paragraph.iter(f"{W}t", f"{W}tab", f"{W}br"):
        if element.tag == f"{W}t":
            out += "" if _is_sign(element) else element.text or ""
        elif element.tag == f"{W}tab" and in_list and element.getparent().tag == f"{W}r":
            out = ""  # the text before it was the list marker
        else:
            out += " "
    return out


# EPUB


def epub_words(data: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = sorted(name for name in package.namelist() if "/chapter" in name)
        return [word for name in names for word in _chapter_words(package.read(name))]


def _chapter_words(page: bytes) -> list[str]:
    """Blocks end a word, other elements do not. Note numbers and list markers come from the reader."""
    html = "{http://www.w3.org/1999/xhtml}"
    root = etree.fromstring(page)
    for link in root.iter(f"{html}a"):
        if link.get("role") in ("doc-noteref", "doc-backlink"):
            link.text = ""
    for number in root.iter(f"{html}span"):
        if number.get("class") == "number":
            number.text = ""
    for tag in ("h1", "h2", "h3", "h4", "p", "li", "td", "th", "br", "pre", "blockquote", "aside"):
        for element in root.iter(f"{html}{tag}"):
            element.tail = " " + (element.tail or "")
            element.text = " " + (element.text or "")
    return "".join(root.find(f"{html}body").itertext()).split()
