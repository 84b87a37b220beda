"""The document's styles and settings. Word's own style names are used, so that users find them in the style list."""

from __future__ import annotations

from html import escape
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from bookgen.render.docx.fonts import east_asian
from bookgen.render.docx.xml import CENTRED, MONO, NAMESPACES, spacing, twips
from bookgen.render.fonts.families import BY_SETTING, own_script
from bookgen.render.layout.geometry import Geometry
from bookgen.render.locales import Locale
from bookgen.render.model import TURNED_EMS
from bookgen.render.plays import ABOVE_SPEECH
from bookgen.render.settings import ExportSettings

# Styles with Word's own names. All others are ours.
_NAMES = {
    "Title": "Title",
    "Subtitle": "Subtitle",
    "Heading1": "heading 1",
    "Heading2": "heading 2",
    "Heading3": "heading 3",
    "Heading4": "heading 4",
    "TOC1": "toc 1",
    "TOC2": "toc 2",
    "Quote": "Quote",
    "FootnoteText": "footnote text",
    "Caption": "caption",
    "Header": "header",
    "Footer": "footer",
}
# Leaves no space between paragraphs of the same style, only around the group.
_GROUPED = "<w:contextualSpacing/>"

_WORD_2013 = "15"  # also the compatibility mode of all later versions

# A style: the style it is based on, the style of the next paragraph, paragraph properties, run properties.
_Style = tuple[str, str, str, str]


class StyleSheet:
    """The styles of one document.

    `poems`: whether the table of contents lists poems below the chapters. `plays`: whether a chapter is a play.
    """

    def __init__(
        self, document: Any, geometry: Geometry, settings: ExportSettings, language: Locale, *, poems: bool, plays: bool
    ) -> None:
        self._document = document
        self._geometry = geometry
        self._settings = settings
        self._language = language
        self._poems = poems
        self._plays = plays

    def apply(self) -> None:
        self._defaults()
        for identifier, (based, following, paragraph, run) in self._styles().items():
            self._add(identifier, based, following, paragraph, run)
        self._add_character("FootnoteReference", "footnote reference", '<w:vertAlign w:val="superscript"/>')
        self._add_character("Hyperlink", "Hyperlink", '<w:color w:val="1F4E79"/><w:u w:val="single"/>')
        settings = self._document.settings.element
        for name in ("embedTrueTypeFonts", "saveSubsetFonts", "mirrorMargins"):  # the schema requires this order
            settings.insert_element_before(_switch(name), "w:proofState")
        if self._settings.hyphenate:
            settings.insert_element_before(_switch("autoHyphenation"), "w:characterSpacingControl")
        settings.insert_element_before(_switch("evenAndOddHeaders"), "w:characterSpacingControl")
        if self._language.ideographic:  # marks such as 。「 share half an em, as in the PDF
            settings.find(qn("w:characterSpacingControl")).set(qn("w:val"), "compressPunctuation")
        compat = settings.find(qn("w:compat"))
        # Without this, a justified line that ends with a manual break is stretched to the margin.
        compat.insert(0, _switch("doNotExpandShiftReturn"))
        for setting in compat.iter(qn("w:compatSetting")):  # otherwise Word opens the file in its compatibility mode
            if setting.get(qn("w:name")) == "compatibilityMode":
                setting.set(qn("w:val"), _WORD_2013)

    def _styles(self) -> dict[str, _Style]:
        geometry = self._geometry
        em, note, lead = geometry.size, geometry.note_size, twips(geometry.lead)
        inset, indent = twips(geometry.inset), twips(em * self._language.indent)
        aside = spacing(lead, lead)
        kept = "<w:keepNext/><w:keepLines/><w:suppressAutoHyphens/>"
        justify = '<w:jc w:val="both"/>' if self._settings.justify else ""
        lines = f'<w:spacing w:before="0" w:after="0" w:line="{lead}" w:lineRule="exact"/>'
        # Entries have no right indent: beyond it, LibreOffice shows no page number in the mode of Word 2013.
        tabs = f'<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="{twips(geometry.measure)}"/></w:tabs>'
        first = "" if self._language.indents_first else '<w:ind w:firstLine="0"/>'
        italic = "" if self._language.emphasis else "<w:i/>"  # where there are no italics, Word would slant the letters
        capitals = "" if self._language.rtl else '<w:smallCaps/><w:spacing w:val="20"/>'

        def style(paragraph: str, run: str = "", *, based: str = "Normal", following: str = "") -> _Style:
            return based, following, paragraph, run

        def head(level: int, before: int, after: int, run: str, extra: str = "") -> _Style:
            outline = f'<w:outlineLvl w:val="{level - 1}"/>'
            return style(kept + spacing(before, after) + extra + outline, run, following="BookFirst")

        quoted = f'<w:ind w:left="{inset}" w:right="{inset}" w:firstLine="0"/>'
        turned = twips(em * TURNED_EMS)
        hung = f'<w:ind w:left="{inset + turned}" w:hanging="{turned}"/>'
        verse = f'<w:suppressAutoHyphens/>{hung}<w:jc w:val="left"/>'
        played = f'{spacing(round(lead * ABOVE_SPEECH), 0)}<w:ind w:left="{turned}" w:firstLine="0"/>'
        spoken = f'<w:ind w:left="{turned}" w:hanging="{turned}"/>'
        plays = {
            "BookDirection": style(played + '<w:jc w:val="left"/>', based="BookBody", following="BookSpeech"),
            "BookSpeech": style(spoken, based="BookDirection", following="BookSpeech"),
        }
        below = f'{tabs}{spacing(0, 40)}<w:ind w:left="{twips(em * 2.5)}" w:hanging="{twips(em)}"/>'
        code = f'<w:suppressAutoHyphens/><w:ind w:left="{inset + twips(em)}" w:hanging="{twips(em)}"/>'
        return {
            "BookBody": style(f'<w:widowControl/>{lines}<w:ind w:firstLine="{indent}"/>{justify}'),
            "BookFirst": style(first, based="BookBody", following="BookBody"),
            "Title": style(kept + spacing(lead * 9, lead) + CENTRED, size(em * 2.5)),
            "Subtitle": style(spacing(0, lead * 2) + CENTRED, italic + size(em * 1.25)),
            "BookAuthor": style(spacing(0, 0) + CENTRED, size(em * 1.25)),
            "BookDedication": style(spacing(0, 0) + CENTRED, italic + size(em)),
            "BookSmall": style(spacing(0, 60), size(note)),
            "ChapterNumber": style(
                kept + spacing(lead * 4, 0) + CENTRED, capitals + size(geometry.small), following="Heading1"
            ),
            "Heading1": head(1, lead * 5, lead * 3, size(em * 2), CENTRED),
            "Heading2": head(2, round(lead * 1.5), round(lead * 0.5), "<w:b/>" + size(em * 1.18)),
            "Heading3": head(3, lead, 0, "<w:b/>" + size(em * 1.06)),
            "Heading4": head(4, lead, 0, italic + size(em)),
            "ContentsHeading": style(kept + spacing(lead * 2, lead * 2) + CENTRED, size(em * 1.6)),
            "TOC1": style(f"{tabs}{spacing(0, 80)}"),
            **({"TOC2": style(below)} if self._poems else {}),
            "Quote": style(aside + quoted + _GROUPED, based="BookBody"),
            "BookVerse": style(verse, based="BookBody"),
            "SceneBreak": style("<w:keepNext/>" + aside + CENTRED, following="BookFirst"),
            "BookList": style(f'{aside}<w:ind w:firstLine="0"/>{_GROUPED}', based="BookBody"),
            **(plays if self._plays else {}),
            "BookCode": style(code, MONO + "<w:noProof/>" + size(em * 0.7)),
            "BookTable": style(spacing(20, 20), size(note)),
            "Caption": style(spacing(80, lead) + CENTRED, italic + size(note), following="BookFirst"),
            "BookFigure": style("<w:keepNext/>" + spacing(lead, 0) + CENTRED, following="Caption"),
            "FootnoteText": style(spacing(0, 0) + justify, size(note)),
            "Header": style(spacing(0, 0), italic + size(geometry.small)),
            "Footer": style(spacing(0, 0) + CENTRED, size(geometry.small)),
        }

    def _defaults(self) -> None:
        body = BY_SETTING[self._settings.font]
        complex_script = own_script(self._language.tag) or body
        root = self._document.styles.element
        run = root.find(qn("w:docDefaults")).find(qn("w:rPrDefault")).find(qn("w:rPr"))
        fonts = run.find(qn("w:rFonts"))
        fonts.attrib.clear()
        asian = east_asian(self._language)
        if self._language.ideographic:
            fonts.set(qn("w:hint"), "eastAsia")  # for marks that Latin has too, such as “ and …
        for slot in ("ascii", "hAnsi"):
            fonts.set(qn(f"w:{slot}"), body.name)
        fonts.set(qn("w:eastAsia"), asian.face(self._settings) if asian else body.name)
        fonts.set(qn("w:cs"), complex_script.name)
        language = run.find(qn("w:lang"))
        for slot in ("val", "eastAsia", "bidi"):
            language.set(qn(f"w:{slot}"), asian.tag if asian and slot == "eastAsia" else self._language.tag)
        normal = self._document.styles["Normal"].element
        normal.remove_all("w:rPr")
        normal.append(parse_xml(f"<w:rPr {NAMESPACES}>{size(self._geometry.size)}</w:rPr>"))

    def _add(self, identifier: str, based: str, following: str, paragraph: str, run: str) -> None:
        custom = "" if identifier in _NAMES else ' w:customStyle="1"'
        name = _NAMES.get(identifier) or "".join(f" {each}" if each.isupper() else each for each in identifier).strip()
        following = f'<w:next w:val="{following}"/>' if following else ""
        if self._language.rtl and identifier != "BookCode":
            paragraph = _with_bidi(paragraph)
        self._put(
            identifier,
            f'<w:style {NAMESPACES} w:type="paragraph" w:styleId="{identifier}"{custom}>'
            f'<w:name w:val="{escape(name)}"/><w:basedOn w:val="{based}"/>{following}<w:qFormat/>'
            f"<w:pPr>{paragraph}</w:pPr><w:rPr>{run}</w:rPr></w:style>",
        )

    def _add_character(self, identifier: str, name: str, run: str) -> None:
        self._put(
            identifier,
            f'<w:style {NAMESPACES} w:type="character" w:styleId="{identifier}"><w:name w:val="{name}"/>'
            f'<w:basedOn w:val="DefaultParagraphFont"/><w:rPr>{run}</w:rPr></w:style>',
        )

    def _put(self, identifier: str, xml: str) -> None:
        """Add a style, replacing the template's style of the same id."""
        styles = self._document.styles.element
        former = styles.get_by_id(identifier)
        if former is not None:
            styles.remove(former)
        styles.append(parse_xml(xml))


def _switch(tag: str) -> Any:
    return parse_xml(f"<w:{tag} {NAMESPACES}/>")


def size(points: float) -> str:
    half = round(points * 2)
    return f'<w:sz w:val="{half}"/><w:szCs w:val="{half}"/>'


def _with_bidi(paragraph: str) -> str:
    """The paragraph properties with `bidi` added. The schema requires it before spacing."""
    at = min(
        (paragraph.find(tag) for tag in ("<w:spacing", "<w:ind", "<w:jc", "<w:outlineLvl") if tag in paragraph),
        default=len(paragraph),
    )
    return f"{paragraph[:at]}<w:bidi/>{paragraph[at:]}"
