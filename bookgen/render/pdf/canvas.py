"""reportlab's canvas adapted for PDF/A: no unembedded Helvetica, no ASCII85, fixed dates, valid stream ends."""

from __future__ import annotations

import zlib
from datetime import datetime
from io import BytesIO
from typing import Any

from reportlab import rl_config
from reportlab.pdfbase import pdfdoc
from reportlab.pdfgen.canvas import Canvas

from bookgen.render.layout.page import Link

_FIXED_DATES = 1
_EFFORT = 5
_PRINTS = 4  # the print flag, which PDF/A requires for every annotation

# The PDF versions on which PDF/A-2 and PDF/X-1a:2001 are based.
ARCHIVAL, PRESS = (1, 7), (1, 3)


def _format_with_line_end(self: Any, document: Any, _format: Any = pdfdoc.PDFStream.format) -> bytes:
    """Write a stream with a line end before `endstream`, which PDF/A requires and reportlab omits."""
    body: bytes = _format(self, document)
    tail = b"endstream\n"
    return body[: -len(tail)] + b"\n" + tail if body.endswith(tail) else body


class _Deflate(pdfdoc.PDFStreamFilterZCompress):
    """Compression that also accepts str (one byte per character).

    Its level is one below zlib's default, which takes half the time.
    """

    def encode(self, text: str | bytes) -> bytes:
        return zlib.compress(text.encode("latin-1") if isinstance(text, str) else text, _EFFORT)


def _set_up_reportlab() -> None:
    rl_config.invariant = _FIXED_DATES
    rl_config.useA85 = 0
    rl_config.pageCompression = 1
    setattr(pdfdoc, "PDFZCompress", _Deflate())  # noqa: B010, the stubs know no assignment
    setattr(pdfdoc.PDFStream, "format", _format_with_line_end)  # noqa: B010, the stubs know no assignment
    pdfdoc.PDFPage.__NoDefault__ = [*pdfdoc.PDFPage.__NoDefault__, "StructParents", "Tabs"]
    pdfdoc.PDFCatalog.__NoDefault__ = [*pdfdoc.PDFCatalog.__NoDefault__, "OutputIntents"]


_set_up_reportlab()


def dictionary(**values: Any) -> Any:
    """A PDF dictionary. Names among the values are strings with a slash, such as "/Font"."""
    return pdfdoc.PDFDictionary(values)


def stream(content: bytes, **values: Any) -> Any:
    """A compressed PDF stream with these entries in its dictionary."""
    return pdfdoc.PDFStream(dictionary(**values), content, [pdfdoc.PDFZCompress])


class BareCanvas(Canvas):
    """A canvas that adds nothing to pages by itself."""

    def __init__(
        self, file: BytesIO, width: float, height: float, language: str, version: tuple[int, int] = PRESS
    ) -> None:
        page = (width, height)
        super().__init__(file, page, pageCompression=1, invariant=_FIXED_DATES, lang=language, pdfVersion=version)

    def _make_preamble(self) -> None:
        self._preamble = ""

    @property
    def document(self) -> Any:
        return self._doc  # type: ignore[attr-defined]

    def date(self, when: datetime) -> None:
        """Set the file's dates and, from them, its identifier. `when` is in UTC."""
        self.document._timeStamp.YMDhms = when.timetuple()[:6]
        self.document.updateSignature(when.isoformat())

    def add_link(self, key: int, box: tuple[float, float, float, float], link: Link) -> None:
        """Add a link annotation to the current page. `key` is its name and its index in the structure's parent tree."""
        annotation = dictionary(
            Type="/Annot",
            Subtype="/Link",
            Rect=pdfdoc.PDFArray(list(box)),
            Border=pdfdoc.PDFArray([0, 0, 0]),
            F=_PRINTS,
            Contents=pdfdoc.PDFString(link.href or link.title),
            StructParent=key,
        )
        if link.href:
            annotation["A"] = dictionary(S="/URI", URI=pdfdoc.PDFString(link.href))
        else:
            annotation["Dest"] = self._bookmarkReference(link.anchor)  # type: ignore[attr-defined]
        self._addAnnotation(annotation, str(key))  # type: ignore[attr-defined]

    def draw(self, operators: list[str]) -> None:
        self._code.extend(operators)  # type: ignore[attr-defined]
