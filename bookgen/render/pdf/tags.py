"""The structure tree: which marks on which pages are a heading, a paragraph, a figure, a link."""

from __future__ import annotations

from typing import Any

from reportlab.pdfbase import pdfdoc

from bookgen.render.layout.rows import Element
from bookgen.render.pdf.canvas import BareCanvas

Box = tuple[float, float, float, float]


class Tags:
    """Numbers marked content page by page, then writes the tree. Off, it marks nothing."""

    def __init__(self, *, on: bool, pages: int) -> None:
        self.on = on
        self._pages = pages
        self._content: dict[int, list[tuple[int, int]]] = {}
        self._owners: dict[int, list[Element]] = {}
        self._waiting: dict[int, list[Element]] = {}  # links that are drawn and have no annotation yet
        self._annotations: dict[int, list[tuple[int, int]]] = {}
        self._annotated: list[Element] = []

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
        """A part of `element` that leads somewhere."""
        link = element.child("Link")
        self._waiting.setdefault(id(element), []).append(link)
        return link

    def annotate(self, page: int, element: Element) -> int:
        """The key, and the name, of the annotation that makes a link of `element`, or of its next part that is one."""
        waiting = self._waiting.get(id(element))
        link = waiting.pop(0) if waiting else element
        key = self._pages + len(self._annotated)
        self._annotations.setdefault(id(link), []).append((page, key))
        self._annotated.append(link)
        return key

    def write(self, canvas: BareCanvas, root: Element) -> None:
        document = canvas.document
        names = _Names()
        tree = _dictionary(Type=_name("StructTreeRoot"), RoleMap=_dictionary(Title=_name("H1")))
        document.Catalog.StructTreeRoot = document.Reference(tree, "StructTreeRoot")
        top = self._element(document, root, "StructTreeRoot", names)
        tree.dict["K"] = pdfdoc.PDFArray([pdfdoc.PDFObjectReference(top)])
        for page in self._owners:
            leaf = document.idToObject[_page(page)]
            leaf.StructParents = page
            leaf.Tabs = _name("S")
        owners: dict[int, list[str] | str] = {
            page: [names.of(element) for element in owners] for page, owners in sorted(self._owners.items())
        }
        owners |= {key: names.of(link) for key, link in enumerate(self._annotated, self._pages)}
        tree.dict["ParentTree"] = document.Reference(_Owners(owners), "ParentTree")
        tree.dict["ParentTreeNextKey"] = self._pages + len(self._annotated)
        if names.notes:
            tree.dict["IDTree"] = document.Reference(_NoteTree(names.notes), "IDTree")
        document.Catalog.MarkInfo = _dictionary(Marked="true")

    def _element(self, document: Any, element: Element, parent: str, names: _Names) -> str:
        """The name of the element's object."""
        name = names.of(element)
        if element.role == "Note":
            names.notes.append(name)
        content, annotations = self._content.get(id(element), []), self._annotations.get(id(element), [])
        node = _StructureElement(element, name, parent, content, annotations)
        document.Reference(node, name)
        for kid in element.kids:
            if self._stands(kid):
                place = self._content.get(id(kid), [(0, 0)])[0]
                node.kids.append((place, self._element(document, kid, name, names)))
        return name

    def _stands(self, element: Element) -> bool:
        """Whether anything of it is on a page."""
        return id(element) in self._content or any(self._stands(kid) for kid in element.kids)


class _Names:
    """A stable object name for each element, in order of first use, and the notes' among them."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self.notes: list[str] = []

    def of(self, element: Element) -> str:
        return self._names.setdefault(id(element), f"SE{len(self._names):07d}")


class _StructureElement(pdfdoc.PDFObject):
    """A structure element that writes itself: there are thousands, too many for a dictionary object each."""

    def __init__(
        self,
        element: Element,
        name: str,
        parent: str,
        content: list[tuple[int, int]],
        annotations: list[tuple[int, int]],
    ) -> None:
        self._element = element
        self._name = name
        self._parent = parent
        self._content = content
        self._annotations = annotations
        self.kids: list[tuple[tuple[int, int], str]] = []

    def format(self, document: Any) -> bytes:
        first = self._content[0][0] if self._content else None
        kids = [
            (
                (page, number),
                str(number) if page == first else f"<</Type/MCR/Pg {_to(document, _page(page))}/MCID {number}>>",
            )
            for page, number in self._content
        ]
        kids += [(place, _to(document, kid)) for place, kid in self.kids]
        if self._content and self.kids:  # a link stands in the midst of its paragraph
            kids.sort()
        parts = [part for _, part in kids]
        parts += [
            f"<</Type/OBJR/Pg {_to(document, _page(page))}/Obj {_to(document, document.annotationName(str(key)))}>>"
            for page, key in self._annotations
        ]
        shown = parts[0] if len(parts) == 1 else f"[{' '.join(parts)}]"
        page = f"/Pg {_to(document, _page(first))}" if first is not None else ""
        element = self._element
        own = f"<</Type/StructElem/S/{element.role}/P {_to(document, self._parent)}{page}/K {shown}"
        own += f"/ID({self._name})" * (element.role == "Note") + f"/A<<{element.attributes}>>" * bool(
            element.attributes
        )
        alt = b"/Alt " + pdfdoc.PDFString(element.alt).format(document) if element.alt else b""
        return own.encode("ascii") + alt + b">>"


class _Owners(pdfdoc.PDFObject):
    """From each page's marked stretches, and from each annotation, to their elements."""

    def __init__(self, owners: dict[int, list[str] | str]) -> None:
        self._owners = owners

    def format(self, document: Any) -> bytes:
        rows = (
            f"{key} {_to(document, owner)}"
            if isinstance(owner, str)
            else f"{key}[{' '.join(_to(document, name) for name in owner)}]"
            for key, owner in self._owners.items()
        )
        return f"<</Nums[{' '.join(rows)}]>>".encode("ascii")


class _NoteTree(pdfdoc.PDFObject):
    """From the notes' identifiers to the notes."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def format(self, document: Any) -> bytes:
        rows = (f"({name}) {_to(document, name)}" for name in sorted(self._names))
        return f"<</Names[{' '.join(rows)}]>>".encode("ascii")


def _to(document: Any, name: str) -> str:
    number, version = document.idToObjectNumberAndVersion[name]
    return f"{number} {version} R"


def _page(page: int) -> str:
    return f"Page{page + 1}"


def _name(text: str) -> Any:
    return pdfdoc.PDFName(text)


def _dictionary(**values: Any) -> Any:
    return pdfdoc.PDFDictionary(values)
