"""Zip files that come out the same whenever and wherever they are made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

_EPOCH = (1980, 1, 1, 0, 0, 0)
_STORED = (".jpg", ".jpeg", ".png")


def rezip(data: bytes, change: Callable[[str, bytes], bytes] = lambda name, content: content) -> bytes:
    """The same members with fixed dates; pictures and the `mimetype` member are stored, not deflated."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = 0o644 << 16
            stored = name == "mimetype" or name.endswith(_STORED)
            member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            target.writestr(member, change(name, source.read(name)))
    return out.getvalue()
