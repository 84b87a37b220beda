"""The structure tree: which marks on which pages are a heading, a paragraph, a figure."""

from __future__ import annotations

from typing import Any

from reportlab.pdfbase import pdfdoc

from bookgen.render.layout.rows import Element
from bookgen.render.pdf.canvas import BareCanvas


class Tags:
    """Numbers marked content page by page, then writes the tree. Off, it marks nothing."""

    def __init__(self, *, on: bool) -> None:
        self.on = on
        self._content: dict[int, list[tuple[int, int]]] = {}
        self._owners: dict[int, list[Element]] = {}

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

    def write(self, canvas: BareCanvas, root: Element) -> None:
        if not self.on:
            return
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
        owners = {page: [names.of(element) for element in owners] for page, owners in sorted(self._owners.items())}
        tree.dict["ParentTree"] = document.Reference(_Owners(owners), "ParentTree")
        tree.dict["ParentTreeNextKey"] = max(self._owners, default=-1) + 1
        document.Catalog.MarkInfo = _dictionary(Marked="true")

    def _element(self, document: Any, element: Element, parent: str, names: _Names) -> str:
        """The name of the element's object."""
        name = names.of(element)
        node = _Node(element, parent, self._content.get(id(element), []))
        document.Reference(node, name)
        node.kids = [self._element(document, kid, name, names) for kid in element.kids if self._stands(kid)]
        return name

    def _stands(self, element: Element) -> bool:
        """Whether anything of it is on a page."""
        return id(element) in self._content or any(self._stands(kid) for kid in element.kids)


class _Names:
    """A stable object name for each element, in order of first use."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def of(self, element: Element) -> str:
        return self._names.setdefault(id(element), f"SE{len(self._names)}")


class _Node(pdfdoc.PDFObject):
    """A structure element that writes itself: there are thousands, too many for a dictionary object each."""

    def __init__(self, element: Element, parent: str, content: list[tuple[int, int]]) -> None:
        self._element = element
        self._parent = parent
        self._content = content
        self.kids: list[str] = []

    def format(self, document: Any) -> bytes:
        first = self._content[0][0] if self._content else None
        kids = [
            str(number) if page == first else f"<</Type/MCR/Pg {_to(document, _page(page))}/MCID {number}>>"
            for page, number in self._content
        ]
        kids += [_to(document, kid) for kid in self.kids]
        shown = kids[0] if len(kids) == 1 else f"[{' '.join(kids)}]"
        page = f"/Pg {_to(document, _page(first))}" if first is not None else ""
        own = f"<</Type/StructElem/S/{self._element.role}/P {_to(document, self._parent)}{page}/K {shown}"
        alt = b"/Alt " + pdfdoc.PDFString(self._element.alt).format(document) if self._element.alt else b""
        return own.encode("ascii") + alt + b">>"


class _Owners(pdfdoc.PDFObject):
    """From each page's marked stretches to their elements."""

    def __init__(self, owners: dict[int, list[str]]) -> None:
        self._owners = owners

    def format(self, document: Any) -> bytes:
        rows = (f"{page}[{' '.join(_to(document, name) for name in names)}]" for page, names in self._owners.items())
        return f"<</Nums[{' '.join(rows)}]>>".encode("ascii")


def _to(document: Any, name: str) -> str:
    number, version = document.idToObjectNumberAndVersion[name]
    return f"{number} {version} R"


def _page(page: int) -> str:
    return f"Page{page + 1}"


def _name(text: str) -> Any:
    return pdfdoc.PDFName(text)


def _dictionary(**values: Any) -> Any:
    return pdfdoc.PDFDictionary(values)
