"""The document's styles and settings: Word's own names, so that a writer finds them in the list."""

from __future__ import annotations

from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from bookgen.render.docx.xml import MONO, NAMESPACES, attribute, twips
from bookgen.render.languages import Locale
from bookgen.render.layout.geometry import Geometry
from bookgen.render.settings import ExportSettings

_BUILT_IN = {
    "Title",
    "Subtitle",
    "Heading1",
    "Heading2",
    "Heading3",
    "Heading4",
    "TOC1",
    "Quote",
    "FootnoteText",
    "Caption",
    "Header",
    "Footer",
}
_NAMES = {
    "Title": "Title",
    "Subtitle": "Subtitle",
    "Heading1": "heading 1",
    "Heading2": "heading 2",
    "Heading3": "heading 3",
    "Heading4": "heading 4",
    "TOC1": "toc 1",
    "Quote": "Quote",
    "FootnoteText": "footnote text",
    "Caption": "caption",
    "Header": "header",
    "Footer": "footer",
}
# Space around a group of such paragraphs and none between them.
_GROUPED = "<w:contextualSpacing/>"
FONT_NAMES = {"serif": "Source Serif 4", "sans": "Source Sans 3", "dyslexic": "Atkinson Hyperlegible"}

# What a machine without the face takes in its place: its name, its kind, the width of its letters.
_STAND_INS = {
    "Source Serif 4": ("Georgia", "roman", "variable"),
    "Source Sans 3": ("Calibri", "swiss", "variable"),
    "Atkinson Hyperlegible": ("Verdana", "swiss", "variable"),
    "Source Code Pro": ("Courier New", "modern", "fixed"),
}

# The order in which the schema wants the settings that we add, among those that the template has.
_SETTINGS_ORDER = [
    "writeProtection",
    "view",
    "zoom",
    "removePersonalInformation",
    "removeDateAndTime",
    "doNotDisplayPageBoundaries",
    "displayBackgroundShape",
    "printPostScriptOverText",
    "printFractionalCharacterWidth",
    "printFormsData",
    "embedTrueTypeFonts",
    "embedSystemFonts",
    "saveSubsetFonts",
    "saveFormsData",
    "mirrorMargins",
    "alignBordersAndEdges",
    "bordersDoNotSurroundHeader",
    "bordersDoNotSurroundFooter",
    "gutterAtTop",
    "hideSpellingErrors",
    "hideGrammaticalErrors",
    "activeWritingStyle",
    "proofState",
    "formsDesign",
    "attachedTemplate",
    "linkStyles",
    "stylePaneFormatFilter",
    "stylePaneSortMethod",
    "documentType",
    "mailMerge",
    "revisionView",
    "trackRevisions",
    "doNotTrackMoves",
    "doNotTrackFormatting",
    "documentProtection",
    "autoFormatOverride",
    "styleLockTheme",
    "styleLockQFSet",
    "defaultTabStop",
    "autoHyphenation",
    "consecutiveHyphenLimit",
    "hyphenationZone",
    "doNotHyphenateCaps",
    "showEnvelope",
    "summaryLength",
    "clickAndTypeStyle",
    "defaultTableStyle",
    "evenAndOddHeaders",
]


def font_table(settings: ExportSettings) -> str:
    fonts = "".join(
        f'<w:font w:name="{name}"><w:altName w:val="{other}"/><w:charset w:val="00"/><w:family w:val="{family}"/>'
        f'<w:pitch w:val="{pitch}"/></w:font>'
        for name, (other, family, pitch) in _STAND_INS.items()
        if name in (FONT_NAMES[settings.font], "Source Code Pro")
    )
    return f"<w:fonts {NAMESPACES}>{fonts}</w:fonts>"


class StyleSheet:
    def __init__(self, document: Any, geometry: Geometry, settings: ExportSettings, language: Locale) -> None:
        self._document = document
        self._geometry = geometry
        self._settings = settings
        self._language = language

    def apply(self) -> None:
        self._defaults()
        for identifier, (based, following, paragraph, run) in self._styles().items():
            self._add(identifier, based, following, paragraph, run)
        self._add_character("FootnoteReference", "footnote reference", '<w:vertAlign w:val="superscript"/>')
        self._add_character("Hyperlink", "Hyperlink", '<w:color w:val="1F4E79"/><w:u w:val="single"/>')
        for tag in ("mirrorMargins", "autoHyphenation", "evenAndOddHeaders"):
            if tag != "autoHyphenation" or self._settings.hyphenate:
                self._switch_on(tag)
        # or a justified line that was ended by hand is drawn out to the margin
        self._document.settings.element.find(qn("w:compat")).insert(
            0, parse_xml(f"<w:doNotExpandShiftReturn {NAMESPACES}/>")
        )

    def _styles(self) -> dict[str, tuple[str, str, str, str]]:
        geometry = self._geometry
        lead = twips(geometry.lead)
        justify = '<w:jc w:val="both"/>' if self._settings.justify else ""
        spacing = f'<w:spacing w:before="0" w:after="0" w:line="{lead}" w:lineRule="exact"/>'
        kept = "<w:keepNext/><w:keepLines/><w:suppressAutoHyphens/>"
        aside = f'<w:spacing w:before="{lead}" w:after="{lead}"/>'
        inset = twips(geometry.indent * 1.2)
        indent = twips(geometry.size * self._language.indent)
        right = twips(geometry.measure)

        def head(level: int, before: int, after: int, extra: str = "") -> str:
            return f'{kept}<w:spacing w:before="{before}" w:after="{after}"/>{extra}<w:outlineLvl w:val="{level - 1}"/>'

        return {
            "BookBody": (
                "Normal",
                "",
                f'<w:widowControl/>{spacing}<w:ind w:firstLine="{indent}"/>{justify}',
                "",
            ),
            "BookFirst": ("BookBody", "BookBody", '<w:ind w:firstLine="0"/>', ""),
            "Title": (
                "Normal",
                "",
                f'{kept}<w:spacing w:before="{lead * 9}" w:after="{lead}"/><w:jc w:val="center"/>',
                size(geometry.size * 2.5),
            ),
            "Subtitle": (
                "Normal",
                "",
                f'<w:spacing w:before="0" w:after="{lead * 2}"/><w:jc w:val="center"/>',
                "<w:i/>" + size(geometry.size * 1.25),
            ),
            "BookAuthor": (
                "Normal",
                "",
                '<w:spacing w:before="0" w:after="0"/><w:jc w:val="center"/>',
                size(geometry.size * 1.25),
            ),
            "BookDedication": (
                "Normal",
                "",
                '<w:spacing w:before="0" w:after="0"/><w:jc w:val="center"/>',
                "<w:i/>" + size(geometry.size),
            ),
            "BookSmall": ("Normal", "", '<w:spacing w:before="0" w:after="60"/>', size(geometry.note_size)),
            "ChapterNumber": (
                "Normal",
                "Heading1",
                f'{kept}<w:spacing w:before="{lead * 4}" w:after="0"/><w:jc w:val="center"/>',
                ("" if self._language.rtl else '<w:smallCaps/><w:spacing w:val="20"/>') + size(geometry.small),
            ),
            "Heading1": (
                "Normal",
                "BookFirst",
                head(1, lead * 5, lead * 3, '<w:jc w:val="center"/>'),
                size(geometry.size * 2),
            ),
            "Heading2": ("Normal", "BookFirst", head(2, lead, lead), "<w:b/>" + size(geometry.size * 1.18)),
            "Heading3": ("Normal", "BookFirst", head(3, lead, 0), "<w:b/>" + size(geometry.size * 1.06)),
            "Heading4": ("Normal", "BookFirst", head(4, lead, 0), "<w:i/>" + size(geometry.size)),
            "ContentsHeading": (
                "Normal",
                "",
                f'{kept}<w:spacing w:before="{lead * 2}" w:after="{lead * 2}"/><w:jc w:val="center"/>',
                size(geometry.size * 1.6),
            ),
            "TOC1": (
                "Normal",
                "",
                f'<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="{right}"/></w:tabs>'
                f'<w:spacing w:before="0" w:after="80"/><w:ind w:right="{inset}"/>',
                "",
            ),
            "Quote": (
                "BookBody",
                "",
                f'{aside}<w:ind w:left="{inset}" w:right="{inset}" w:firstLine="0"/>{_GROUPED}',
                "",
            ),
            "BookVerse": (
                "BookBody",
                "",
                f'<w:suppressAutoHyphens/><w:ind w:left="{inset}" w:firstLine="0"/><w:jc w:val="left"/>',
                "",
            ),
            "SceneBreak": ("Normal", "BookFirst", f'<w:keepNext/>{aside}<w:jc w:val="center"/>', ""),
            "BookList": ("BookBody", "", f'{aside}<w:ind w:firstLine="0"/>{_GROUPED}', ""),
            "BookCode": (
                "Normal",
                "",
                f'<w:suppressAutoHyphens/>{aside}<w:ind w:left="{inset}"/>{_GROUPED}',
                MONO + "<w:noProof/>" + size(geometry.size * 0.86),
            ),
            "BookTable": ("Normal", "", '<w:spacing w:before="20" w:after="20"/>', size(geometry.note_size)),
            "Caption": (
                "Normal",
                "BookFirst",
                f'<w:spacing w:before="80" w:after="{lead}"/><w:jc w:val="center"/>',
                "<w:i/>" + size(geometry.note_size),
            ),
            "BookFigure": (
                "Normal",
                "Caption",
                f'<w:keepNext/><w:spacing w:before="{lead}" w:after="0"/><w:jc w:val="center"/>',
                "",
            ),
            "FootnoteText": (
                "Normal",
                "",
                f'<w:spacing w:before="0" w:after="0"/>{justify}',
                size(geometry.note_size),
            ),
            "Header": ("Normal", "", '<w:spacing w:before="0" w:after="0"/>', "<w:i/>" + size(geometry.small)),
            "Footer": (
                "Normal",
                "",
                '<w:spacing w:before="0" w:after="0"/><w:jc w:val="center"/>',
                size(geometry.small),
            ),
        }

    def _defaults(self) -> None:
        name = FONT_NAMES[self._settings.font]
        root = self._document.styles.element
        run = root.find(qn("w:docDefaults")).find(qn("w:rPrDefault")).find(qn("w:rPr"))
        fonts = run.find(qn("w:rFonts"))
        for key in list(fonts.attrib):
            del fonts.attrib[key]
        for slot in ("ascii", "hAnsi", "cs", "eastAsia"):
            fonts.set(qn(f"w:{slot}"), name)
        language = run.find(qn("w:lang"))
        for slot in ("val", "eastAsia", "bidi"):
            language.set(qn(f"w:{slot}"), self._language.tag)
        normal = self._document.styles["Normal"].element
        normal.remove(normal.find(qn("w:rPr"))) if normal.find(qn("w:rPr")) is not None else None
        normal.append(parse_xml(f"<w:rPr {NAMESPACES}>{size(self._geometry.size)}</w:rPr>"))

    def _add(self, identifier: str, based: str, following: str, paragraph: str, run: str) -> None:
        self._remove(identifier)
        custom = "" if identifier in _BUILT_IN else ' w:customStyle="1"'
        name = _NAMES.get(identifier) or "".join(f" {each}" if each.isupper() else each for each in identifier).strip()
        following = f'<w:next w:val="{following}"/>' if following else ""
        if self._language.rtl and identifier != "BookCode":
            paragraph = _with_bidi(paragraph)
        self._append(
            f'<w:style {NAMESPACES} w:type="paragraph" w:styleId="{identifier}"{custom}>'
            f'<w:name w:val="{attribute(name)}"/><w:basedOn w:val="{based}"/>{following}<w:qFormat/>'
            f"<w:pPr>{paragraph}</w:pPr><w:rPr>{run}</w:rPr></w:style>"
        )

    def _add_character(self, identifier: str, name: str, run: str) -> None:
        self._remove(identifier)
        self._append(
            f'<w:style {NAMESPACES} w:type="character" w:styleId="{identifier}"><w:name w:val="{name}"/>'
            f'<w:basedOn w:val="DefaultParagraphFont"/><w:rPr>{run}</w:rPr></w:style>'
        )

    def _remove(self, identifier: str) -> None:
        root = self._document.styles.element
        for style in root.findall(qn("w:style")):
            if style.get(qn("w:styleId")) == identifier:
                root.remove(style)

    def _append(self, xml: str) -> None:
        self._document.styles.element.append(parse_xml(xml))

    def _switch_on(self, tag: str) -> None:
        settings = self._document.settings.element
        if settings.find(qn(f"w:{tag}")) is not None:
            return
        before = {qn(f"w:{name}") for name in _SETTINGS_ORDER[: _SETTINGS_ORDER.index(tag)]}
        place = max((index + 1 for index, child in enumerate(settings) if child.tag in before), default=0)
        settings.insert(place, parse_xml(f"<w:{tag} {NAMESPACES}/>"))


def size(points: float) -> str:
    half = round(points * 2)
    return f'<w:sz w:val="{half}"/><w:szCs w:val="{half}"/>'


def _with_bidi(paragraph: str) -> str:
    """`bidi` stands before spacing in the schema's order."""
    at = min(
        (paragraph.find(tag) for tag in ("<w:spacing", "<w:ind", "<w:jc", "<w:outlineLvl") if tag in paragraph),
        default=len(paragraph),
    )
    return f"{paragraph[:at]}<w:bidi/>{paragraph[at:]}"
