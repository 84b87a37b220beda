"""The structure tree of a tagged PDF: which content is a heading, a paragraph, a figure or a link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportlab.pdfbase import pdfdoc

from bookgen.render.layout.rows import Element
from bookgen.render.pdf.file import PdfFile
from bookgen.render.pdf.objects import dictionary

Box = tuple[float, float, float, float]


class Tags:
    """Numbers each piece of marked content on its page, then writes the structure tree.

    With `on=False` it does nothing.
    """

    def __init__(self, *, on: bool, pages: int) -> None:
        self.on = on
        self._pages = pages
        self._content: dict[int, list[tuple[int, int]]] = {}
        self._owners: dict[int, list[Element]] = {}
        self._waiting: dict[int, list[Element]] = {}  # drawn links that have no annotation yet
        self._annotations: dict[int, list[tuple[int, int]]] = {}
        self._annotated: list[Element] = []
        self._names: dict[int, str] = {}  # the object names of elements, in order of first use
        self._notes: list[str] = []

    def begin(self, page: int, element: Element | None) -> str:
        if not self.on:
            return ""
        if element is None:
            return "/Artifact BMC\n"
        owners = self._owners.setdefault(page, [])
        number = len(owners)
        owners.append(element)
        self._content.setdefault(id(element), []).append((page, number))
        return f"/{element.role} <</MCID {number}>> BDC\n"

    def end(self) -> str:
        return "\nEMC" if self.on else ""

    def link(self, element: Element) -> Element:
        """Add a link element below `element` for the linked part of its text."""
        link = element.child("Link")
        self._waiting.setdefault(id(element), []).append(link)
        return link

    def annotate(self, page: int, element: Element) -> int:
        """Register a link annotation on a page and return its key in the parent tree.

        The annotation belongs to the first link in `element` that has no annotation yet or, without such a link, to
        `element`.
        """
        waiting = self._waiting.get(id(element))
        link = waiting.pop(0) if waiting else element
        key = self._pages + len(self._annotated)
        self._annotations.setdefault(id(link), []).append((page, key))
        self._annotated.append(link)
        return key

    def write(self, file: PdfFile, root: Element) -> None:
        document = file.document
        tree = dictionary(Type="/StructTreeRoot", RoleMap=dictionary(Title="/H1"))
        file.catalog["StructTreeRoot"] = document.Reference(tree, "StructTreeRoot")
        top = self._element(document, root, "StructTreeRoot")
        tree["K"] = pdfdoc.PDFArray([pdfdoc.PDFObjectReference(top)])
        owners: list[str] = []  # the parent tree: from marked content and annotations to their elements
        for page, elements in sorted(self._owners.items()):
            leaf = document.idToObject[_page(page)]
            leaf["StructParents"], leaf["Tabs"] = page, "/S"
            owners.append(f"{page}[{' '.join(_to(document, self._name(element)) for element in elements)}]")
        for key, link in enumerate(self._annotated, self._pages):
            owners.append(f"{key} {_to(document, self._name(link))}")
        tree["ParentTree"] = document.Reference(_Written(f"<</Nums[{' '.join(owners)}]>>"), "ParentTree")
        tree["ParentTreeNextKey"] = self._pages + len(self._annotated)
        if self._notes:
            notes = " ".join(f"({name}) {_to(document, name)}" for name in sorted(self._notes))
            tree["IDTree"] = document.Reference(_Written(f"<</Names[{notes}]>>"), "IDTree")
        file.catalog["MarkInfo"] = dictionary(Marked="true")

    def _element(self, document: Any, element: Element, parent: str) -> str:
        """Write an element and its descendants. Returns the name of its object."""
        name = self._name(element)
        if element.role == "Note":
            self._notes.append(name)
        node = _Written()
        document.Reference(node, name)
        content = self._content.get(id(element), [])
        first = content[0][0] if content else None
        kids: list[tuple[tuple[int, int], str]] = []
        for page, number in content:
            elsewhere = f"<</Type/MCR/Pg {_to(document, _page(page))}/MCID {number}>>"
            kids.append(((page, number), str(number) if page == first else elsewhere))
        for kid in element.kids:
            if self._has_content(kid):
                place = self._content.get(id(kid), [(0, 0)])[0]
                kids.append((place, _to(document, self._element(document, kid, name))))
        if content:  # a link comes in the middle of its paragraph's content
            kids.sort()
        parts = [part for _, part in kids]
        for page, key in self._annotations.get(id(element), []):
            annotation = _to(document, document.annotationName(str(key)))
            parts.append(f"<</Type/OBJR/Pg {_to(document, _page(page))}/Obj {annotation}>>")
        on = f"/Pg {_to(document, _page(first))}" if first is not None else ""
        node.body = _body(document, element, f"/P {_to(document, parent)}{on}", name, parts)
        return name

    def _name(self, element: Element) -> str:
        return self._names.setdefault(id(element), f"SE{len(self._names):07d}")

    def _has_content(self, element: Element) -> bool:
        """Whether the element or a descendant has content on a page."""
        return id(element) in self._content or any(self._has_content(kid) for kid in element.kids)


class _Written(pdfdoc.PDFObject):
    """A PDF object given as its final text. There are thousands, and dictionary objects would be slow."""

    def __init__(self, body: str = "") -> None:
        self.body = body.encode("ascii")

    def format(self, _document: Any) -> bytes:
        return self.body


def _body(document: Any, element: Element, place: str, name: str, parts: Sequence[str]) -> bytes:
    shown = parts[0] if len(parts) == 1 else f"[{' '.join(parts)}]"
    own = f"<</Type/StructElem/S/{element.role}{place}/K {shown}"
    own += f"/ID({name})" * (element.role == "Note")
    own += f"/A<<{element.attributes}>>" * bool(element.attributes)
    alt = b"/Alt " + pdfdoc.PDFString(element.alt).format(document) if element.alt else b""
    return own.encode("ascii") + alt + b">>"


def _to(document: Any, name: str) -> str:
    number, version = document.idToObjectNumberAndVersion[name]
    return f"{number} {version} R"


def _page(page: int) -> str:
    return f"Page{page + 1}"
