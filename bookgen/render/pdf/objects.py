"""The objects that a PDF is made of, as reportlab writes them."""

from __future__ import annotations

import zlib
from io import BytesIO
from typing import Any

from PIL import Image
from reportlab.pdfbase import pdfdoc

from bookgen.render.model import Picture

_EFFORT = 5  # one below zlib's default, which takes twice the time
_COLOURS = {"L": "/DeviceGray", "RGB": "/DeviceRGB", "CMYK": "/DeviceCMYK"}


def dictionary(**values: Any) -> Any:
    """A PDF dictionary with these entries. A value that is a PDF name is passed with its slash, such as "/Font"."""
    return pdfdoc.PDFDictionary(values)


class StreamObject(pdfdoc.PDFObject):
    """A PDF stream: bytes, and a dictionary that describes them.

    It replaces reportlab's own class, which omits the line end before `endstream` that PDF/A requires.
    """

    def __init__(self, data: bytes, **values: Any) -> None:
        self._data = data
        self._values = values

    def format(self, document: Any) -> bytes:
        head: bytes = dictionary(**self._values, Length=len(self._data)).format(document)
        return b"%b\nstream\n%b\nendstream\n" % (head, self._data)


def compressed(data: bytes, **values: Any) -> StreamObject:
    """A stream of this content with these entries in its dictionary."""
    return StreamObject(zlib.compress(data, _EFFORT), Filter="/FlateDecode", **values)


def picture_object(picture: Picture) -> StreamObject:
    with Image.open(BytesIO(picture.data)) as image:
        mode = image.mode
    values: dict[str, Any] = {"Decode": pdfdoc.PDFArray([1, 0] * 4)} if mode == "CMYK" else {}  # inverted, as Adobe's
    return StreamObject(
        picture.data,
        Type="/XObject",
        Subtype="/Image",
        Width=picture.width,
        Height=picture.height,
        BitsPerComponent=8,
        ColorSpace=_COLOURS[mode],
        Filter="/DCTDecode",
        **values,
    )
