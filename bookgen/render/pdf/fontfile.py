"""Embeds a face in a PDF: subset by HarfBuzz, Identity-H encoding, and a ToUnicode map that resolves ligatures."""

from __future__ import annotations

import struct
import zlib
from itertools import groupby
from typing import Any

import uharfbuzz as hb
from reportlab.pdfbase import pdfdoc

from bookgen.render.fonts.face import Face
from bookgen.render.fonts.instance import pinned
from bookgen.render.pdf.file import PdfFile
from bookgen.render.pdf.objects import compressed, dictionary

_DROPPED = ("GSUB", "GPOS", "GDEF", "STAT", "DSIG", "meta")
_NO_BREAK = "\u00a0"
_SYMBOLIC = 4


class EmbeddedFont:
    """A font face embedded in a PDF file. `name` is the name by which pages refer to it."""

    def __init__(self, face: Face, file: PdfFile) -> None:
        self._face = face
        self.name = file.add_font(self)

    def write(self, file: PdfFile) -> Any:
        """Write the font's objects, with the glyphs used so far. Returns the reference to the font."""
        glyphs = sorted(self._face.text_of)
        data = subset(self._face, sorted({self._face.glyph_of.get(glyph, glyph) for glyph in glyphs}))
        font = hb.Face(hb.Blob(data))
        base = pdfdoc.PDFName(f"{_tag(data)}+{_postscript_name(font, self._face)}")
        descriptor = self._descriptor(file, font, data, base)
        descendant = self._reference(file, self._cid_font(file, base, descriptor, glyphs), "cid")
        composite = dictionary(
            Type="/Font",
            Subtype="/Type0",
            BaseFont=base,
            Encoding="/Identity-H",
            DescendantFonts=pdfdoc.PDFArray([descendant]),
            ToUnicode=self._reference(file, compressed(to_unicode(self._face)), "unicode"),
        )
        return self._reference(file, composite, "font")

    def _reference(self, file: PdfFile, thing: Any, kind: str) -> Any:
        return file.refer(thing, f"{kind}:{self._face.key}")

    def _descriptor(self, file: PdfFile, font: Any, data: bytes, base: str) -> Any:
        scale = 1000.0 / font.upem
        ascent, descent = _numbers(font, "hhea", 4, "hh")
        italic, thousandth = _numbers(font, "post", 4, "hH")
        descriptor = dictionary(
            Type="/FontDescriptor",
            FontName=base,
            Flags=_SYMBOLIC,
            ItalicAngle=round(italic + thousandth / 65536),
            FontBBox=pdfdoc.PDFArray([round(value * scale) for value in _numbers(font, "head", 36, "hhhh")]),
            Ascent=round(ascent * scale),
            Descent=round(descent * scale),
            StemV=80,
            CapHeight=round(self._face.cap_height * 1000),
        )
        if self._face.has_outlines_in_cff:
            program = compressed(bytes(font.reference_table("CFF ").data), Subtype="/CIDFontType0C")
            descriptor["FontFile3"] = self._reference(file, program, "file")
        else:
            descriptor["FontFile2"] = self._reference(file, compressed(data, Length1=len(data)), "file")
        return self._reference(file, descriptor, "descriptor")

    def _cid_font(self, file: PdfFile, base: str, descriptor: Any, glyphs: list[int]) -> Any:
        outlines = self._face.has_outlines_in_cff
        adobe, identity = pdfdoc.PDFString("Adobe"), pdfdoc.PDFString("Identity")
        font = dictionary(
            Type="/Font",
            Subtype="/CIDFontType0" if outlines else "/CIDFontType2",
            BaseFont=base,
            CIDSystemInfo=dictionary(Registry=adobe, Ordering=identity, Supplement=0),
            FontDescriptor=descriptor,
            DW=0,
            W=self._widths(glyphs),
        )
        if not outlines:
            font["CIDToGIDMap"] = self._glyph_map(file)
        return font

    def _glyph_map(self, file: PdfFile) -> Any:
        """The CIDToGIDMap. Character numbers equal glyph ids, except the second and further numbers of one glyph."""
        additional = self._face.glyph_of
        if not additional:
            return "/Identity"
        glyphs = (additional.get(number, number) for number in range(max(additional) + 1))
        return self._reference(file, compressed(b"".join(glyph.to_bytes(2, "big") for glyph in glyphs)), "glyphs")

    def _widths(self, glyphs: list[int]) -> Any:
        """The width array: for each run of consecutive numbers, the first number and the run's widths."""
        out: list[Any] = []
        for _, row in groupby(enumerate(glyphs), key=lambda each: each[1] - each[0]):
            numbers = [glyph for _, glyph in row]
            out += [numbers[0], pdfdoc.PDFArray([round(self._face.advance(glyph), 1) for glyph in numbers])]
        return pdfdoc.PDFArray(out)


def subset(face: Face, glyphs: list[int]) -> bytes:
    """The font file with only these glyphs, with their ids kept, at the face's axis values."""
    wanted = pinned(face.hb_face, face.variations, _DROPPED)
    wanted.sets(hb.SubsetInputSets.GLYPH_INDEX).update(glyphs)
    wanted.flags = hb.SubsetFlags.RETAIN_GIDS | hb.SubsetFlags.NO_LAYOUT_CLOSURE | hb.SubsetFlags.NOTDEF_OUTLINE
    return bytes(hb.subset(face.hb_face, wanted).blob.data)


def to_unicode(face: Face) -> bytes:
    """The face's ToUnicode map. No-break spaces become normal ones, so that code can be copied and run."""
    entries = [
        f"<{glyph:04X}> <{text.replace(_NO_BREAK, ' ').encode('utf-16-be').hex().upper()}>"
        for glyph, text in sorted(face.text_of.items())
        if text
    ]
    lines = [
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
        "/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
        "1 begincodespacerange <0000> <FFFF> endcodespacerange",
    ]
    for at in range(0, len(entries), 100):
        block = entries[at : at + 100]
        lines += [f"{len(block)} beginbfchar", *block, "endbfchar"]
    lines.append("endcmap CMapName currentdict /CMap defineresource pop end end")
    return "\n".join(lines).encode("ascii")


def _tag(data: bytes) -> str:
    """The six-letter tag of the subset. The same glyphs give the same tag."""
    number = zlib.crc32(data)
    return "".join(chr(65 + (number >> (5 * place)) % 26) for place in range(6))


def _postscript_name(font: Any, face: Face) -> str:
    """The font's PostScript name, without special characters.

    For a variable font it is made from the face's key, since all weights of such a font have the same PostScript name.
    """
    name = None if face.variations else font.get_name(hb.OTNameIdPredefined.POSTSCRIPT_NAME)
    return "".join(each for each in (name or face.key) if each.isalnum() or each in "-_")


def _numbers(font: Any, table: str, at: int, kinds: str) -> tuple[int, ...]:
    """Read big-endian numbers at byte `at` of a font table, in the `struct` formats `kinds`.

    If the font does not have the table, all numbers are 0.
    """
    data = bytes(font.reference_table(table).data or b"")[at : at + struct.calcsize(kinds)]
    return struct.unpack(f">{kinds}", data) if data else (0,) * len(kinds)
