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
        tree = _dictionary(Type=_name("StructTreeRoot"))
        tree_reference = document.Reference(tree, "StructTreeRoot")
        top = self._element(document, root, tree_reference, names)
        tree.dict["K"] = pdfdoc.PDFArray([top])
        tree.dict["RoleMap"] = _dictionary(Title=_name("H1"))
        numbers: list[Any] = []
        for page in sorted(self._owners):
            leaf = document.idToObject[_page_key(page)]
            leaf.StructParents = page
            leaf.Tabs = _name("S")
            owners = [pdfdoc.PDFObjectReference(names.of(element)) for element in self._owners[page]]
            numbers += [page, pdfdoc.PDFArray(owners)]
        tree.dict["ParentTree"] = document.Reference(_dictionary(Nums=pdfdoc.PDFArray(numbers)), "ParentTree")
        tree.dict["ParentTreeNextKey"] = max(self._owners, default=-1) + 1
        document.Catalog.StructTreeRoot = tree_reference
        document.Catalog.MarkInfo = _dictionary(Marked="true")

    def _element(self, document: Any, element: Element, parent: Any, names: _Names) -> Any:
        node = _dictionary(Type=_name("StructElem"), S=_name(element.role), P=parent)
        reference = document.Reference(node, names.of(element))
        kids: list[Any] = []
        content = self._content.get(id(element), [])
        if content:
            first = content[0][0]
            node.dict["Pg"] = _page(first)
            kids += [
                number if page == first else _dictionary(Type=_name("MCR"), Pg=_page(page), MCID=number)
                for page, number in content
            ]
        kids += [self._element(document, kid, reference, names) for kid in element.kids if self._stands(kid)]
        node.dict["K"] = kids[0] if len(kids) == 1 else pdfdoc.PDFArray(kids)
        if element.alt:
            node.dict["Alt"] = pdfdoc.PDFString(element.alt)
        return reference

    def _stands(self, element: Element) -> bool:
        """Whether anything of it is on a page."""
        return id(element) in self._content or any(self._stands(kid) for kid in element.kids)


class _Names:
    """A stable object name for each element, in order of first use."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def of(self, element: Element) -> str:
        return self._names.setdefault(id(element), f"SE{len(self._names)}")


def _page_key(page: int) -> str:
    return f"Page{page + 1}"


def _page(page: int) -> Any:
    return pdfdoc.PDFObjectReference(_page_key(page))


def _name(text: str) -> Any:
    return pdfdoc.PDFName(text)


def _dictionary(**values: Any) -> Any:
    return pdfdoc.PDFDictionary(values)
