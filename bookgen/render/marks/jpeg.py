"""The mark of origin in a JPEG, inserted without encoding the picture again."""

from __future__ import annotations

from dataclasses import replace

from bookgen.models import SourceType
from bookgen.render.marks.xmp import packet
from bookgen.render.model import Picture

XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"
_START, _APP0, _APP1 = b"\xff\xd8", b"\xff\xe0", b"\xff\xe1"


def with_mark(picture: Picture, source: SourceType) -> Picture:
    """The picture with an XMP packet that names its origin. The JFIF header stays the first segment."""
    data = picture.data
    at = len(_START)
    if data[at : at + 2] == _APP0:
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    payload = XMP_HEADER + packet(source)
    segment = _APP1 + (2 + len(payload)).to_bytes(2, "big") + payload
    return replace(picture, data=data[:at] + segment + data[at:])
