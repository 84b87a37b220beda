"""Makes a subset font file for one weight and slope of a family."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache

import uharfbuzz as hb

from bookgen.render.fonts.families import Source

_DROPPED = ("STAT", "DSIG", "meta")
_REGULAR, _BOLD = 0x40, 0x20  # bits of `fsSelection`
_KEPT = 16  # cached instances, for the next exports


@lru_cache(_KEPT)
def instance(source: Source, *, bold: bool, italic: bool, letters: frozenset[int]) -> bytes:
    """A static TrueType file with all `letters` (code points) that the family has, and their OpenType features."""
    face = hb.Face(hb.Blob.from_file_path(str(source.path(bold=bold, italic=italic))), source.index)
    wanted = pinned(face, source.axes(bold=bold), _DROPPED)
    wanted.sets(hb.SubsetInputSets.UNICODE).update(letters)
    wanted.flags = hb.SubsetFlags.NOTDEF_OUTLINE
    data = bytearray(hb.subset(face, wanted).blob.data)
    if bold:
        _mark_bold(data)
    return bytes(data)


def pinned(face: hb.Face, places: Mapping[str, float], dropped: Iterable[str]) -> hb.SubsetInput:
    """A HarfBuzz request for a font fixed at the axis values `places` and without the tables `dropped`."""
    wanted = hb.SubsetInput()
    wanted.drop_table_tag_set.update(int.from_bytes(tag.encode(), "big") for tag in dropped)
    for axis in face.axis_infos:
        wanted.pin_axis_location(face, axis.tag, places.get(axis.tag, axis.default_value))
    return wanted


def _mark_bold(data: bytearray) -> None:
    """Mark a font file as bold. A bold instance of a variable file still carries that file's regular flags."""
    tables = {bytes(data[at : at + 4]): at for at in range(12, 12 + 16 * int.from_bytes(data[4:6], "big"), 16)}
    for tag, place, off, on in ((b"OS/2", 62, _REGULAR, _BOLD), (b"head", 44, 0, 1)):
        (offset,) = struct.unpack_from(">I", data, tables[tag] + 8)
        (bits,) = struct.unpack_from(">H", data, offset + place)
        struct.pack_into(">H", data, offset + place, bits & ~off | on)
