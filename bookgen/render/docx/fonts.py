"""The document's fonts: their names, substitutes, and embedded files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part

from bookgen.render.docx.xml import DECLARATION, MONO, NAMESPACES
from bookgen.render.fonts.families import BY_SETTING, Source, own_script
from bookgen.render.fonts.families import MONO as CODE
from bookgen.render.fonts.instance import instance
from bookgen.render.locales import Locale
from bookgen.render.settings import ExportSettings

# Substitutes for readers that ignore embedded fonts: name, family, pitch.
_STAND_INS = {
    "Source Serif 4": ("Georgia", "roman", "variable"),
    "Source Sans 3": ("Calibri", "swiss", "variable"),
    "Atkinson Hyperlegible": ("Verdana", "swiss", "variable"),
    "Source Code Pro": ("Courier New", "modern", "fixed"),
    "Amiri": ("Traditional Arabic", "roman", "variable"),
    "Frank Ruhl Libre": ("David", "roman", "variable"),
    "Noto Serif Devanagari": ("Mangal", "roman", "variable"),
}


@dataclass(frozen=True, slots=True)
class EastAsian:
    """An East Asian language: Word's tag for it, its serif and sans-serif fonts, and their character set."""

    tag: str
    serif: str
    sans: str
    charset: str

    def face(self, settings: ExportSettings) -> str:
        return self.serif if settings.font == "serif" else self.sans


# Faces that Word brings along. The embedded ones have no ideographs, and these are too large to embed.
_EAST_ASIAN = {
    "ja": EastAsian("ja-JP", "Yu Mincho", "Yu Gothic", "80"),
    "zh": EastAsian("zh-CN", "SimSun", "Microsoft YaHei", "86"),
    "zh-hant": EastAsian("zh-TW", "PMingLiU", "Microsoft JhengHei", "88"),
    "ko": EastAsian("ko-KR", "Batang", "Malgun Gothic", "81"),
}
_STYLES = (("Regular", False, False), ("Bold", True, False), ("Italic", False, True), ("BoldItalic", True, True))
# Letters embedded in any case, so that the author can continue writing: Latin, and general punctuation.
_USUAL = frozenset((*range(0x20, 0x250), *range(0x2010, 0x2070), 0x20AC, 0x2122, 0xFB01, 0xFB02))
_OBFUSCATED = "application/vnd.openxmlformats-officedocument.obfuscatedFont"
_HIDDEN = 32  # bytes of a font file that are obfuscated


def east_asian(language: Locale) -> EastAsian | None:
    """Word's fonts for a book in Chinese, Japanese or Korean. None for other languages."""
    return _EAST_ASIAN.get("zh-hant" if language.is_traditional else language.code)


def embed_fonts(document: Any, xml: str, settings: ExportSettings, language: Locale) -> bytes:
    """Embed into the document the fonts that its XML `xml` needs. Returns the XML of the font table."""
    letters = _USUAL | {ord(letter) for letter in set(xml)}
    code = CODE if MONO in xml or '"BookCode"' in xml else None
    sources = {each.name: each for each in (BY_SETTING[settings.font], own_script(language.tag), code) if each}
    table = document.part.part_related_by(RELATIONSHIP_TYPE.FONT_TABLE)
    fonts = "".join(_font(table, source, letters) for source in sources.values())
    if asian := east_asian(language):
        family = "roman" if settings.font == "serif" else "swiss"
        fonts += (
            f'<w:font w:name="{asian.face(settings)}"><w:charset w:val="{asian.charset}"/>'
            f'<w:family w:val="{family}"/><w:pitch w:val="variable"/></w:font>'
        )
    return (DECLARATION + f"<w:fonts {NAMESPACES}>{fonts}</w:fonts>").encode()


def _font(table: Part, source: Source, letters: frozenset[int]) -> str:
    other, family, pitch = _STAND_INS[source.name]
    embedded = "".join(
        _embedded(table, style, instance(source, bold=bold, italic=italic, letters=letters))
        for style, bold, italic in _STYLES
        if not italic or source.italic != source.regular
    )
    return (
        f'<w:font w:name="{source.name}"><w:altName w:val="{other}"/><w:charset w:val="00"/>'
        f'<w:family w:val="{family}"/><w:pitch w:val="{pitch}"/>{embedded}</w:font>'
    )


def _embedded(table: Part, style: str, data: bytes) -> str:
    number = len(table.rels) + 1
    key = uuid5(NAMESPACE_URL, f"{number} {len(data)} {data[:64].hex()}")
    part = Part(PackURI(f"/word/fonts/font{number}.odttf"), _OBFUSCATED, _hidden(data, key), table.package)
    relation = table.relate_to(part, RELATIONSHIP_TYPE.FONT)
    return f'<w:embed{style} r:id="{relation}" w:fontKey="{{{str(key).upper()}}}"/>'


def _hidden(data: bytes, key: UUID) -> bytes:
    """The font file obfuscated by ECMA-376 part 4, 2.8.1: its first bytes are XORed with the reversed key."""
    mask = key.bytes[::-1] * 2
    return bytes(byte ^ other for byte, other in zip(data[:_HIDDEN], mask, strict=True)) + data[_HIDDEN:]
