"""The style sheet: plain CSS that old and new reading systems support."""

from __future__ import annotations

from pathlib import Path

from bookgen.render.characters import is_wide
from bookgen.render.fonts.families import DYSLEXIC
from bookgen.render.locales import Locale
from bookgen.render.model import POEM_TURNED_EMS, TURNED_EMS
from bookgen.render.plays import ABOVE_SPEECH
from bookgen.render.scene_breaks import SCENE_BREAK
from bookgen.render.settings import ExportSettings

_FAMILIES = {"serif": "serif", "sans": "sans-serif", "dyslexic": '"Atkinson Hyperlegible", sans-serif'}

_SHEET = """@namespace epub "http://www.idpf.org/2007/ops";
body {{ margin: 0 5%; line-height: {leading}; widows: 2; orphans: 2; font-family: {family}; overflow-wrap: break-word }}
p {{ margin: 0; text-indent: {indent}em; text-align: {align} }}
p, li, figcaption {{ {hyphens} }}
h1 {{ font-weight: normal; text-align: center; margin: 3em 0 2em; text-wrap: balance }}
h2, h3, h4 {{ margin: 1.5em 0 0.6em; break-after: avoid; page-break-after: avoid }}
.untitled {{ padding-top: 5em }}
{flush}.number {{ display: block; font-size: 0.6em; letter-spacing: 0.15em; margin-bottom: 1em }}
[dir="rtl"] .number {{ letter-spacing: 0 }}
hr {{ border: 0; margin: 1.2em 0; text-align: center; height: 1.2em }}
hr::before {{ content: "{ornament}" }}
p.apart {{ margin: 1em 0 }}
p.label {{ margin: 1em 0 0; text-indent: 0 }}
h2 + p.label, h3 + p.label, h4 + p.label, p.label + p.label {{ margin: 0 }}
p.label, p.kept {{ break-after: avoid; page-break-after: avoid }}
blockquote {{ margin: 1em 1.6em }}
li p, td p {{ text-indent: 0 }}
blockquote p + p, li p + p {{ text-indent: {indent}em }}
blockquote p.flush {{ text-indent: 0 }}
{speech}{bracket}p.lines {{ text-indent: 0; text-align: start }}
p.verse {{ margin: 1em 1.6em; text-align: start; text-indent: 0; {whole} }}
p.verse > span {{ display: block; padding-inline-start: {turned:g}em; text-indent: -{turned:g}em }}
p.verse > br {{ display: none }}
p.poem {{ break-inside: avoid; page-break-inside: avoid }}
p.poem, blockquote p.verse {{ margin: 1em 0 }}
li:first-child:not(:last-child), li:nth-last-child(2) {{ break-after: avoid; page-break-after: avoid }}
{bullets}ul.boxes {{ list-style: none; padding-left: 1em }}
pre {{ font-size: 0.85em; margin: 1em 0 }}
pre, code {{ white-space: pre-wrap; font-family: monospace; {whole} }}
pre code {{ font-size: inherit }}
table {{ margin: 1em auto; border-collapse: collapse; font-size: 0.9em }}
tr, .whole {{ break-inside: avoid; page-break-inside: avoid }}
table, th {{ border-top: 1px solid; border-bottom: 1px solid }}
th, td {{ padding: 0.2em 0.6em; overflow-wrap: anywhere; text-align: start; vertical-align: top }}
.right {{ text-align: right }}
.center {{ text-align: center }}
figure {{ margin: 1em 0; text-align: center; break-inside: avoid }}
img {{ max-width: 100%; height: auto }}
figcaption {{ font-size: 0.85em; font-style: italic }}
.title-page, .dedication {{ text-align: center; margin-top: 20% }}
.title-page p, .dedication p {{ text-align: center; text-indent: 0; margin: 1em 0 }}
.dedication p, .title-page .subtitle, .title-page .notice {{ font-style: italic }}
.copyright p {{ font-size: 0.85em; text-indent: 0; margin: 0.5em 0 }}
.watermark {{ text-align: center; text-indent: 0; font-size: 0.8em; margin-top: 3em }}
.cover {{ text-align: center }}
.cover img {{ height: 100%; max-width: 100% }}
a.noteref {{ vertical-align: super; font-size: 0.7em; text-decoration: none; line-height: 0 }}
section.notes {{ font-size: 0.85em; margin-top: 2em }}
section.notes p {{ text-indent: 0; margin: 0.4em 0 }}
nav ol {{ list-style: none; padding: 0 }}
nav li {{ margin: 0.4em 0 }}
nav a {{ color: inherit; text-decoration: none }}
{emphasis}{initial}"""

# The dots are above Japanese and below Chinese text. Its letters have no italics, but Latin words within it do.
_EMPHASIS = """em {{ font-style: normal; {shape} }}
em.latin {{ font-style: italic; {none} }}
figcaption, .dedication p, .title-page .subtitle, .title-page .notice {{ font-style: normal }}
"""
_BELOW = "text-emphasis-position: under right"

_VERSE = f"""nav ol ol {{ margin: 0 1.5em }}
.begins-page {{ break-before: page; page-break-before: always }}
p.poem > span {{ padding-inline-start: {POEM_TURNED_EMS:g}em; text-indent: -{POEM_TURNED_EMS:g}em }}
"""

# As specific as the rules for the opening and for initials, which it overrides.
_PLAY = f""".opening > p.part, .opening > p.direction {{
  margin-top: {1.2 * ABOVE_SPEECH:g}em; padding-inline-start: {TURNED_EMS:g}em; text-align: start; text-indent: 0
}}
.opening > p.part {{ text-indent: -{TURNED_EMS:g}em }}
.opening > p.part::first-letter, .opening > p.direction::first-letter {{
  font-size: inherit; float: none; line-height: inherit; padding-right: 0
}}
p.cue {{ break-after: avoid; page-break-after: avoid }}
"""

_FLUSH = """.opening > p:first-child { text-indent: 0 }
h1 + p, h2 + p, h3 + p, h4 + p, hr + p, blockquote + p, ul + p, ol + p { text-indent: 0 }
table + p, pre + p, figure + p, p.verse + p, p.apart, p.apart + p, p.label + p { text-indent: 0 }
blockquote p { text-indent: 0 }
"""

_INITIAL = """.opening > p:first-of-type:not(.label)::first-letter {
  font-size: 3em; float: left; line-height: 0.85; padding-right: 0.06em
}
"""


_FACE = """@font-face {{ font-family: "{name}"; src: url({file}); font-weight: {weight}; font-style: {slant} }}
"""


def font_files(settings: ExportSettings) -> dict[str, Path]:
    """The font files to embed, by file name. Only the font `dyslexic` is embedded, since reading systems lack it."""
    if settings.font != "dyslexic":
        return {}
    paths = (DYSLEXIC.path(bold=bold, italic=italic) for bold, italic in _FOUR)
    return {path.name: path for path in paths}


_FOUR = ((False, False), (False, True), (True, False), (True, True))


def _faces(settings: ExportSettings) -> str:
    return "".join(
        _FACE.format(name=DYSLEXIC.name, file=file, weight=700 if bold else 400, slant="italic" if italic else "normal")
        for file, (bold, italic) in zip(font_files(settings), _FOUR, strict=False)
    )


def _hyphens(how: str) -> str:
    """The CSS properties for hyphenation, set to `how`, in all vendor spellings, with the limits used in print."""
    names = ("-webkit-hyphens", "-epub-hyphens", "adobe-hyphenate", "hyphens")
    limits = "-webkit-hyphenate-limit-before: 2; -webkit-hyphenate-limit-after: 3; hyphenate-limit-chars: 6 2 3"
    return "; ".join([*(f"{name}: {how}" for name in names), limits])


def _emphasis(language: Locale) -> str:
    if not language.emphasis:
        return ""
    shape = _prefixed(f"text-emphasis: filled {language.emphasis}") + f"; {_prefixed(_BELOW)}" * (language.code == "zh")
    return _EMPHASIS.format(shape=shape, none=_prefixed("text-emphasis: none"))


def _prefixed(declaration: str) -> str:
    return "; ".join(f"{prefix}{declaration}" for prefix in ("-epub-", "-webkit-", ""))


def style_sheet(settings: ExportSettings, language: Locale, *, verse: bool = False, plays: bool = False) -> bytes:
    """The style sheet as CSS. `verse`: for a book of verse. `plays`: for a book with a chapter that is a play."""
    sheet = _SHEET.format(
        indent=language.indent,
        flush="" if language.indents_first else _FLUSH,
        speech=f"p.speech {{ text-indent: {language.indent}em }}\n" * language.speaks_with_dashes,
        bullets=f'ul {{ list-style-type: "{language.bullets[0]}" }}\n' * is_wide(language.bullets[0]),
        bracket="p.bracket { text-indent: 0 }\n" * bool(language.flush_marks),
        leading=round(1.27 * language.leading * settings.line_spacing, 2),
        family=_FAMILIES[settings.font],
        align="justify" if settings.justify else "start",
        hyphens=_hyphens("auto" if settings.hyphenate else "none"),
        whole=_hyphens("none"),
        turned=TURNED_EMS,
        ornament=SCENE_BREAK.replace(" ", "\\2003"),
        emphasis=_emphasis(language),
        initial=_INITIAL if settings.drop_caps else "",
    )
    opening, rest = sheet.split("\n", 1)  # @namespace must come first
    return f"{opening}\n{_faces(settings)}{rest}{_VERSE * verse}{_PLAY * plays}".encode()
