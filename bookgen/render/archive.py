"""Reproducible zip files: the same members always give the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_EPOCH = (1980, 1, 1, 0, 0, 0)
_STORED = (".jpg", ".jpeg", ".png")


def member(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        return source.read(name)


def rezip(data: bytes, instead: Mapping[str, bytes]) -> bytes:
    """Copy a zip file with fixed dates. `instead` maps names of members to their new content.

    Pictures and the `mimetype` member are stored uncompressed.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            stored = name == "mimetype" or name.endswith(_STORED)
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            target.writestr(entry, instead[name] if name in instead else source.read(name))
    return out.getvalue()
