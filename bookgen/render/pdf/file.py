"""A PDF file in the making, page by page. reportlab numbers and writes its objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from reportlab.pdfbase import pdfdoc

from bookgen.render.layout.page import Link
from bookgen.render.model import Picture
from bookgen.render.pdf.objects import StreamObject, compressed, dictionary, picture_object

_PRINTS = 4  # the print flag, which PDF/A requires for every annotation
_FONTS = "BasicFonts"  # the name of the object with the fonts of all pages

# The PDF versions on which PDF/A-2 and PDF/X-1a:2001 are based.
ARCHIVAL, PRESS = (1, 7), (1, 3)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of the outline (a PDF's bookmarks).

    It leads to the target named `target`. `inner`: the entries below this entry.
    """

    title: str
    target: str
    inner: tuple[OutlineEntry, ...] = ()


Box = tuple[float, float, float, float]


class DocumentFont(Protocol):
    """A font whose objects are written after all pages, when all text that uses the font is known."""

    def write(self, file: PdfFile) -> Any:
        """Write the font's objects. Returns the reference to the font."""


def _document(version: tuple[int, int]) -> Any:  # untyped: the stubs know few of its attributes
    return pdfdoc.PDFDocument(invariant=1, pdfVersion=version)


class PdfFile:
    """Pages of one size, in points, with their links and labels. `catalog` and `info` are the file's dictionaries."""

    def __init__(
        self, width: float, height: float, language: str, version: tuple[int, int] = PRESS, *, compress: bool = True
    ) -> None:
        self.document = _document(version)
        self.catalog = self.document.Catalog = dictionary(
            Type="/Catalog", PageMode="/UseNone", Pages=self.document.Reference(self.document.Pages)
        )
        if language:
            self.catalog["Lang"] = pdfdoc.PDFString(language)
        self.info = self.document.info = dictionary(Trapped="/False")
        self._media = pdfdoc.PDFArray([0, 0, width, height])
        self._compress = compress
        self._fonts: list[DocumentFont] = []
        self._pictures: dict[Picture, str] = {}
        self._targets: dict[str, Any] = {}
        self._outline: list[OutlineEntry] = []
        self._labels: list[Any] = []
        self._begin_page()

    def _begin_page(self) -> None:
        self._operators: list[str] = []
        self._shown: list[str] = []  # the names of the page's pictures
        self._annotations: list[Any] = []
        self._boxes: dict[str, Any] = {}

    def describe(self, when: datetime, **texts: str) -> None:
        """Set the document information and, from it, the file's identifier. `when` is in UTC."""
        date = pdfdoc.PDFString(f"D:{when:%Y%m%d%H%M%S}+00'00'")
        self.info["CreationDate"] = self.info["ModDate"] = date
        for name, text in texts.items():
            self.info[name] = pdfdoc.PDFString(text)
        self.document.updateSignature("\n".join((when.isoformat(), *texts.values())))

    def add_font(self, font: DocumentFont) -> str:
        """Add a font. Returns the name by which pages refer to it."""
        self._fonts.append(font)
        return f"/F{len(self._fonts)}"

    def refer(self, thing: Any, name: str) -> Any:
        """Register the object `thing` under this name. Returns a reference to it."""
        return self.document.Reference(thing, name)

    def draw(self, operators: Sequence[str]) -> None:
        self._operators.extend(operators)

    def draw_picture(self, picture: Picture, x: float, y: float, width: float, height: float) -> None:
        """Draw the picture. The file contains its data once, however often it is drawn."""
        name = self._pictures.get(picture)
        if name is None:
            name = self._pictures[picture] = f"I{len(self._pictures) + 1}"
            self.refer(picture_object(picture), name)
        if name not in self._shown:
            self._shown.append(name)
        self._operators.append(f"q {width:.2f} 0 0 {height:.2f} {x:.2f} {y:.2f} cm /{name} Do Q")

    def set_boxes(self, *, trim: Box, bleed: Box) -> None:
        self._boxes = {"TrimBox": pdfdoc.PDFArray(trim), "BleedBox": pdfdoc.PDFArray(bleed)}

    def add_target(self, name: str) -> None:
        """Make the current page the target of the links and outline entries with this name."""
        target = self._target(name)
        target.fit()
        target.setPage(self.document.thisPageRef())

    def add_link(self, key: int, box: Box, link: Link) -> None:
        """Add a link annotation to the current page.

        `key` is the annotation's name and its index in the parent tree of the structure.
        """
        annotation = dictionary(
            Type="/Annot",
            Subtype="/Link",
            Rect=pdfdoc.PDFArray(box),
            Border=pdfdoc.PDFArray([0, 0, 0]),
            F=_PRINTS,
            Contents=pdfdoc.PDFString(link.href or link.title),
            StructParent=key,
        )
        if link.href:
            annotation["A"] = dictionary(S="/URI", URI=pdfdoc.PDFString(link.href))
        else:
            annotation["Dest"] = self._target(link.anchor)
        self.document.addAnnotation(str(key), annotation)
        self._annotations.append(self.document.refAnnotation(str(key)))

    def _target(self, name: str) -> Any:
        return self._targets.setdefault(name, pdfdoc.Destination(name))

    def end_page(self) -> None:
        content = "\n".join((*self._operators, "")).encode("latin-1")
        resources: dict[str, Any] = {"Font": pdfdoc.PDFObjectReference(_FONTS)}
        if self._shown:
            resources["XObject"] = dictionary(**{name: pdfdoc.PDFObjectReference(name) for name in self._shown})
        page = dictionary(
            Type="/Page",
            Parent=self.catalog["Pages"],
            MediaBox=self._media,
            Contents=self.document.Reference(compressed(content) if self._compress else StreamObject(content)),
            Resources=dictionary(**resources),
            **self._boxes,
        )
        if self._annotations:
            page["Annots"] = pdfdoc.PDFArray(self._annotations)
        self.document.addPage(page)
        self._begin_page()

    def add_outline_entry(self, entry: OutlineEntry) -> None:
        self._outline.append(entry)

    def label_pages(self, start: int, style: str) -> None:
        """Number the pages from index `start` on, beginning with 1. `style`: "D" for 1, 2, 3 or "r" for i, ii, iii."""
        self._labels += [start, dictionary(S=f"/{style}", St=1)]

    def name_page(self, index: int, name: str) -> None:
        """Show a name instead of a number for the page at `index`."""
        self._labels += [index, dictionary(P=pdfdoc.PDFString(name))]

    def written(self) -> bytes:
        """The whole file. Nothing may be added afterwards."""
        fonts = self.document.idToObject[_FONTS]
        for number, font in enumerate(self._fonts, 1):
            fonts[f"F{number}"] = font.write(self)
        if self._labels:
            self.catalog["PageLabels"] = dictionary(Nums=pdfdoc.PDFArray(self._labels))
        if self._outline:
            self.catalog["Outlines"] = self._written_outline()
        data: bytes = self.document.format()
        return data

    def _written_outline(self) -> Any:
        root = dictionary(Type="/Outlines")
        reference = self.refer(root, "Outlines")
        self._write_entries(self._outline, root, reference, "Outline")
        return reference

    def _write_entries(self, entries: Sequence[OutlineEntry], parent: Any, reference: Any, name: str) -> int:
        """Write the entries below `parent`, expanded, and return their number, including inner ones.

        The names of their objects begin with `name`.
        """
        names = [f"{name}{number}" for number in range(1, len(entries) + 1)]
        places = [pdfdoc.PDFObjectReference(each) for each in names]
        parent["First"], parent["Last"], count = places[0], places[-1], len(entries)
        for at, entry in enumerate(entries):
            node = dictionary(Title=pdfdoc.PDFString(entry.title), Parent=reference, Dest=self._target(entry.target))
            if at:
                node["Prev"] = places[at - 1]
            if at + 1 < len(entries):
                node["Next"] = places[at + 1]
            own = self.refer(node, names[at])
            if entry.inner:
                count += self._write_entries(entry.inner, node, own, f"{names[at]}-")
        parent["Count"] = count
        return count
